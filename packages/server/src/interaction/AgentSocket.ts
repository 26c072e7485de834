import {
  ClientFrame,
  type FrameError,
  FrameErrorBody,
  FrameInvalid,
  type ServerFrame,
  SocketClose,
  AnswerLimitReached
} from "@berth/api/interaction/AgentSocketFrames"
import { InternalFailure, ServiceUnavailable } from "@berth/api/http/TransportErrors"
import { LastEventIdInvalid } from "@berth/api/interaction/InteractionErrorBodies"
import type { User } from "@berth/domain/shared/User"
import type { Agent } from "@berth/domain/agents/Agent"
import type { AgentStatus } from "@berth/domain/agents/AgentStatus"
import {
  type AnswerEvent,
  formatAnswerEventId,
  parseAnswerEventId
} from "@berth/domain/interaction/answers/AnswerEvent"
import type { Message } from "@berth/domain/interaction/Conversation"
import { MessageNotFound, MessageUnanswered } from "@berth/domain/interaction/ConversationErrors"
import type { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import type { SessionId } from "@berth/domain/sessions/Session"
import {
  type Context,
  Deferred,
  Duration,
  Effect,
  Either,
  FiberSet,
  Mailbox,
  ParseResult,
  Schedule,
  Schema,
  type Scope,
  Stream
} from "effect"
import { type RawData, WebSocket } from "ws"
import { parseJsonBody } from "../http/RequestBody.ts"
import type { SocketLimits } from "./SocketLimits.ts"

/** Who talks to which agent, and what has proved it; `mark` is another one once the token is. */
export interface SocketHolder {
  readonly user: User
  readonly agent: Agent
  readonly proof: { readonly by: "session"; readonly id: SessionId } | { readonly by: "token"; readonly mark: string }
}

export interface AgentSocket {
  readonly holder: SocketHolder
  /** Says the status when it is another one than was said last. */
  readonly sendStatus: (status: AgentStatus) => Effect.Effect<void>
  readonly close: (code: number, reason: string) => Effect.Effect<void>
  /** Takes no more messages, and waits until the answers in work have been told. */
  readonly drain: Effect.Effect<void>
  readonly closed: Effect.Effect<void>
}

const decodeFrame = Schema.decodeUnknownEither(ClientFrame)
const encodeError = Schema.encodeSync(FrameErrorBody)
const encoder = new TextEncoder()

/** A client's frame, or what is wrong with it. */
export const readClientFrame = (text: string): Either.Either<ClientFrame, FrameInvalid> =>
  parseJsonBody(encoder.encode(text)).pipe(
    Either.mapLeft(({ reason }) => new FrameInvalid({ reason })),
    Either.flatMap((value) =>
      Either.mapLeft(
        decodeFrame(value),
        (error) => new FrameInvalid({ reason: `is not understood: ${describeFaults(error)}` })
      )
    )
  )

const textOf = (data: RawData): string => {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8")
  return data instanceof ArrayBuffer ? Buffer.from(data).toString("utf8") : data.toString("utf8")
}

const describeFaults = (error: ParseResult.ParseError) =>
  [
    ...new Set(
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) =>
        `${path.length === 0 ? "" : `${path.join(".")}: `}${message}`.slice(0, 200)
      )
    )
  ]
    .slice(0, 5)
    .join("; ")

const errorFrame = (error: FrameError, id: string | undefined): ServerFrame => {
  const { code, error: sentence, message } = encodeError(error)
  return { type: "error", ...(id === undefined ? {} : { id }), code, error: sentence, message }
}

const makeAnswerFrame =
  ({ id: messageId }: Message) =>
  (event: AnswerEvent): ServerFrame => {
    const id = formatAnswerEventId(messageId, event.n)
    switch (event.type) {
      case "delta":
        return { type: "delta", id, text: event.text }
      case "done": {
        const { content, createdAt, sessionId } = event.reply
        return { type: "done", id, sessionId, reply: content, timestamp: createdAt.epochMillis }
      }
      case "failed":
        return errorFrame(new MessageUnanswered({ reason: event.reason }), id)
    }
  }

/** A conversation over one socket, for as long as the scope is open; `closed` says when the client has gone. */
export const make = (
  ws: WebSocket,
  holder: SocketHolder,
  conversations: Conversations,
  limits: Context.Tag.Service<typeof SocketLimits>
): Effect.Effect<AgentSocket, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent, user } = holder
    const frames = yield* Mailbox.make<string>({ capacity: limits.framesAhead, strategy: "dropping" })
    const answers = yield* FiberSet.make<void>()
    const closed = yield* Deferred.make<void>()
    const turn = yield* Effect.makeSemaphore(1)
    let isDraining = false
    let isHeard = true
    let said: AgentStatus | undefined

    const shut = (code: number, reason: string) => {
      ws.close(code, reason)
      setTimeout(() => ws.terminate(), Duration.toMillis(limits.closeTimeout)).unref()
    }

    const send = (frame: ServerFrame) =>
      Effect.sync(() => {
        if (ws.readyState !== WebSocket.OPEN) return
        // What waits here is memory of ours; the client can come back for the rest when it reads again.
        if (ws.bufferedAmount > limits.bufferedBytes) shut(SocketClose.tooSlow, "you do not read what you are sent")
        else ws.send(JSON.stringify(frame))
      })

    const follow = (message: Message, events: Stream.Stream<AnswerEvent>) =>
      FiberSet.run(
        answers,
        Stream.runForEach(events, (event) => send(makeAnswerFrame(message)(event)))
      )

    const handle = (frame: ClientFrame): Effect.Effect<unknown, FrameError> => {
      switch (frame.type) {
        case "ping":
          return send({ type: "pong" })
        case "chat":
          return Effect.gen(function* () {
            if (isDraining) return yield* new ServiceUnavailable()
            if ((yield* FiberSet.size(answers)) >= limits.answers)
              return yield* new AnswerLimitReached({ limit: limits.answers })
            const { id, message, sessionId } = frame
            const sent = yield* conversations.send(
              user,
              { message, sessionId, agentId: agent.id },
              { isResumable: true }
            )
            yield* send({
              type: "accepted",
              ...(id === undefined ? {} : { id }),
              messageId: sent.message.id,
              sessionId: sent.session.id
            })
            return yield* follow(sent.message, sent.events)
          })
        case "resume":
          return Effect.gen(function* () {
            const position = yield* Effect.mapError(
              parseAnswerEventId(frame.lastEventId),
              () => new LastEventIdInvalid()
            )
            if ((yield* FiberSet.size(answers)) >= limits.answers)
              return yield* new AnswerLimitReached({ limit: limits.answers })
            const { events, message } = yield* conversations.resume(user.id, position)
            // The socket is its agent's alone.
            if (message.agentId !== agent.id) return yield* new MessageNotFound()
            return yield* follow(message, events)
          })
      }
    }

    const idOf = (frame: ClientFrame) =>
      frame.type === "chat" ? frame.id : frame.type === "resume" ? frame.lastEventId.slice(0, 128) : undefined

    const work = (text: string) => {
      const frame = readClientFrame(text)
      if (Either.isLeft(frame)) return send(errorFrame(frame.left, undefined))
      const id = idOf(frame.right)
      return turn
        .withPermits(1)(handle(frame.right))
        .pipe(
          Effect.catchAll((error) => send(errorFrame(error, id))),
          Effect.catchAllDefect((defect) =>
            Effect.zipRight(
              Effect.logError("A frame failed unexpectedly", defect),
              send(errorFrame(new InternalFailure(), id))
            )
          ),
          Effect.annotateLogs({ userId: user.id, agentId: agent.id }),
          Effect.withSpan(`AgentSocket.${frame.right.type}`, {
            root: true,
            attributes: { "user.id": user.id, "agent.id": agent.id }
          })
        )
    }

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        ws.on("message", (data, isBinary) => {
          isHeard = true
          if (isBinary) return shut(SocketClose.unsupported, "frames are JSON text")
          if (!frames.unsafeOffer(textOf(data))) shut(SocketClose.tooFast, "too many frames at a time")
        })
        ws.on("pong", () => {
          isHeard = true
        })
        // A frame that is too large or malformed: the library closes with the code for it.
        ws.on("error", () => undefined)
        ws.on("close", () => Deferred.unsafeDone(closed, Effect.void))
        // It may have gone while this was made ready.
        if (ws.readyState === WebSocket.CLOSED) Deferred.unsafeDone(closed, Effect.void)
      }),
      () => Effect.sync(() => ws.terminate())
    )

    const sendStatus = (status: AgentStatus) =>
      Effect.suspend(() => {
        if (said === status) return Effect.void
        said = status
        return send({ type: "status", status })
      })

    const beat = Effect.sync(() => {
      if (!isHeard) return ws.terminate()
      isHeard = false
      if (ws.readyState === WebSocket.OPEN) ws.ping()
    })

    yield* sendStatus(agent.status)
    yield* Effect.forkScoped(Stream.runForEach(Mailbox.toStream(frames), work))
    yield* Effect.forkScoped(Effect.schedule(beat, Schedule.spaced(limits.heartbeat)))

    return {
      holder,
      sendStatus,
      close: (code, reason) => Effect.sync(() => shut(code, reason)),
      drain: Effect.suspend(() => {
        isDraining = true
        // After the frame that is being worked on.
        return Effect.zipRight(turn.withPermits(1)(Effect.void), FiberSet.awaitEmpty(answers))
      }),
      closed: Deferred.await(closed)
    }
  })
