import {
  AnswerLimitReached,
  type ClientFrame,
  type FrameError,
  type ServerFrame,
  SocketClose
} from "@berth/api/interaction/AgentSocketFrames"
import { InternalFailure, ServiceUnavailable } from "@berth/api/http/TransportErrors"
import { makeAnswerFrame } from "@berth/api/interaction/AnswerFrames"
import { LastEventIdInvalid } from "@berth/api/interaction/InteractionErrorBodies"
import type { User } from "@berth/domain/shared/User"
import type { Agent } from "@berth/domain/agents/Agent"
import type { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { type AnswerEvent, parseAnswerEventId } from "@berth/domain/interaction/answers/AnswerEvent"
import type { ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import { streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import type { Message } from "@berth/domain/interaction/Conversation"
import { MessageNotFound } from "@berth/domain/interaction/ConversationErrors"
import type { RequestProof } from "@berth/domain/sessions/Principal"
import type { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { type Context, Deferred, Duration, Effect, Either, FiberSet, Mailbox, Option, type Scope, Stream } from "effect"
import { WebSocket } from "ws"
import { currentTraceId } from "../http/TraceId.ts"
import type { MessageReader } from "./ReceivedMessage.ts"
import { makeErrorFrame, readClientFrame, readText } from "./SocketFrames.ts"
import type { SocketLimits } from "./SocketLimits.ts"

export interface SocketHolder {
  readonly user: User
  readonly agent: Agent
  readonly proof: RequestProof
}

export interface AgentSocket {
  readonly holder: SocketHolder
  readonly sendStatus: (status: AgentStatus) => Effect.Effect<void>
  readonly close: (code: number, reason: string) => Effect.Effect<void>
  /** Rejects further messages and waits for answers in progress. */
  readonly drain: Effect.Effect<void>
  readonly closed: Effect.Effect<void>
  /** Pings the client; disconnects a silent client or one that does not read. Called once per `heartbeat`. */
  readonly beat: () => void
}

/** Serves one socket until the scope closes; `closed` succeeds when the client disconnects. */
export const make = Effect.fnUntraced(function* (
  ws: WebSocket,
  holder: SocketHolder,
  {
    conversations,
    readMessage,
    resumed
  }: { readonly conversations: Conversations; readonly resumed: ResumedAnswers; readonly readMessage: MessageReader },
  limits: Context.Tag.Service<typeof SocketLimits>
): Effect.fn.Return<AgentSocket, never, Scope.Scope> {
  const { agent, user } = holder
  const frames = yield* Mailbox.make<string>({ capacity: limits.framesAhead, strategy: "dropping" })
  const answers = yield* FiberSet.make<void>()
  const closed = yield* Deferred.make<void>()
  const turn = yield* Effect.makeSemaphore(1)
  let isDraining = false
  let isAlive = true
  let lastStatus: AgentStatus | undefined
  /** Frames handed to the connection, and frames that it accepted; the latter also at the last beat. */
  let sent = 0
  let written = 0
  let writtenAtBeat = 0
  let stalledBeats = 0
  const countWritten = () => {
    written += 1
  }

  const closeSocket = (code: number, reason: string) => {
    ws.close(code, reason)
    setTimeout(() => ws.terminate(), Duration.toMillis(limits.closeTimeout)).unref()
  }

  const send = (frame: ServerFrame) =>
    Effect.sync(() => {
      if (ws.readyState !== WebSocket.OPEN) return
      // Back-pressure: the client can resume the answer on another socket.
      if (ws.bufferedAmount > limits.bufferedBytes) closeSocket(SocketClose.tooSlow, "the client reads too slowly")
      else {
        sent += 1
        ws.send(JSON.stringify(frame), countWritten)
      }
    })

  const sendError = (error: FrameError, id: string | undefined) => Effect.flatMap(makeErrorFrame(error, id), send)

  const follow = (message: Message, events: Stream.Stream<AnswerEvent>) =>
    Effect.flatMap(currentTraceId, (traceId) => {
      const toFrame = makeAnswerFrame(message, Option.getOrUndefined(traceId))
      return FiberSet.run(
        answers,
        Stream.runForEach(events, (event) => send(toFrame(event)))
      )
    })

  const handle = (frame: ClientFrame): Effect.Effect<unknown, FrameError> => {
    switch (frame.type) {
      case "ping":
        return send({ type: "pong" })
      case "chat":
        return Effect.gen(function* () {
          if (isDraining) return yield* new ServiceUnavailable()
          if ((yield* FiberSet.size(answers)) >= limits.answers)
            return yield* new AnswerLimitReached({ limit: limits.answers })
          const { attachments, id, message, sessionId } = frame
          const toSend = yield* readMessage(user, { attachments, message, sessionId, agentId: agent.id })
          const { events: read, opening } = yield* conversations.send(user, toSend, { isResumable: true })
          yield* send({
            type: "accepted",
            ...(id === undefined ? {} : { id }),
            messageId: opening.message.id,
            sessionId: opening.session.id
          })
          return yield* follow(opening.message, streamFromReader(read))
        })
      case "resume":
        return Effect.gen(function* () {
          const position = yield* Effect.mapError(parseAnswerEventId(frame.lastEventId), () => new LastEventIdInvalid())
          if ((yield* FiberSet.size(answers)) >= limits.answers)
            return yield* new AnswerLimitReached({ limit: limits.answers })
          const { events, opening } = yield* resumed.resume(user.id, position)
          // A socket serves its own agent only.
          if (opening.message.agentId !== agent.id) return yield* new MessageNotFound()
          return yield* follow(opening.message, events)
        })
    }
  }

  const idOf = (frame: ClientFrame) =>
    frame.type === "chat" ? frame.id : frame.type === "resume" ? frame.lastEventId.slice(0, 128) : undefined

  const handleText = (text: string) => {
    const frame = readClientFrame(text)
    if (Either.isLeft(frame))
      return Effect.withSpan(sendError(frame.left, undefined), "AgentSocket.invalid", { root: true })
    const id = idOf(frame.right)
    return turn
      .withPermits(1)(handle(frame.right))
      .pipe(
        Effect.catchAll((error) => sendError(error, id)),
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(
            Effect.logError("Socket frame failed unexpectedly", defect),
            sendError(new InternalFailure(), id)
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
        isAlive = true
        if (isBinary) return closeSocket(SocketClose.unsupported, "frames must be JSON text")
        if (!frames.unsafeOffer(readText(data))) closeSocket(SocketClose.tooFast, "too many frames at a time")
      })
      ws.on("pong", () => {
        isAlive = true
      })
      // The library closes the socket after an oversized or malformed frame.
      ws.on("error", () => undefined)
      ws.on("close", () => Deferred.unsafeDone(closed, Effect.void))
      // The client may have disconnected before the listeners were added.
      if (ws.readyState === WebSocket.CLOSED) Deferred.unsafeDone(closed, Effect.void)
    }),
    () => Effect.sync(() => ws.terminate())
  )

  const sendStatus = (status: AgentStatus) =>
    Effect.suspend(() => {
      if (lastStatus === status) return Effect.void
      lastStatus = status
      return send({ type: "status", status })
    })

  const beat = () => {
    stalledBeats = written < sent && written === writtenAtBeat ? stalledBeats + 1 : 0
    writtenAtBeat = written
    // The first beat only starts the first interval.
    if (!isAlive || stalledBeats > limits.stalledBeats) return ws.terminate()
    isAlive = false
    if (ws.readyState === WebSocket.OPEN) ws.ping()
  }

  yield* sendStatus(agent.status)
  // No stream stage, which an idle socket would keep in memory.
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(frames.take, handleText)))

  return {
    holder,
    sendStatus,
    close: (code, reason) => Effect.sync(() => closeSocket(code, reason)),
    drain: Effect.suspend(() => {
      isDraining = true
      // Waits for the frame in progress.
      return Effect.zipRight(turn.withPermits(1)(Effect.void), FiberSet.awaitEmpty(answers))
    }),
    closed: Deferred.await(closed),
    beat
  }
})
