import { maximumFrameBytes, SocketClose, SocketLimitReached } from "@berth/api/interaction/AgentSocketFrames"
import { Agents } from "@berth/domain/agents/Agents"
import { makeUseInterval } from "@berth/domain/instances/IdleInstances"
import { Instances } from "@berth/domain/instances/Instances"
import { ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import type { HttpServerRequest } from "@effect/platform"
import { Context, Deferred, type Duration, Effect, FiberSet, Layer, Metric, Option, Schedule } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import { CredentialWatch } from "../http/CredentialWatch.ts"
import { acceptWebSocket } from "../http/WebSocketUpgrade.ts"
import * as AgentSocket from "./AgentSocket.ts"
import { makeMessageReader } from "./ReceivedMessage.ts"
import { chooseProtocol, restoreProtocols } from "./SocketCredentials.ts"
import { SocketLimits } from "./SocketLimits.ts"
import type { UserId } from "@berth/domain/shared/UserId"

/** Open WebSockets of this process. */
export class AgentSockets extends Context.Tag("@berth/AgentSockets")<
  AgentSockets,
  {
    /**
     * Upgrades the request and serves the socket until it closes. Errors precede the handshake; false if the upgrade
     * failed.
     */
    readonly open: (
      request: HttpServerRequest.HttpServerRequest,
      holder: AgentSocket.SocketHolder
    ) => Effect.Effect<boolean, SocketLimitReached>
  }
>() {}

const openSockets = Metric.gauge("berth_agent_sockets_open", { description: "Open WebSockets to agents" })

export interface AgentSocketsOptions {
  /** Time limit of answers in progress after the listener closes. */
  readonly drain: Duration.Duration
  /** Idle time of instances; an open socket counts as a use. */
  readonly idleAfter: Option.Option<Duration.Duration>
}

const make = Effect.fnUntraced(function* ({ drain, idleAfter }: AgentSocketsOptions) {
  const agents = yield* Agents
  const instances = yield* Instances
  const credentials = yield* CredentialWatch
  const answers = {
    conversations: yield* Conversations,
    resumed: yield* ResumedAnswers,
    readMessage: yield* makeMessageReader
  }
  const limits = yield* SocketLimits
  const fibers = yield* FiberSet.make<void>()
  const runFiber = yield* FiberSet.runtime(fibers)<never>()
  const counts = new Map<UserId, number>()
  const sockets = new Map<AgentSocket.AgentSocket, Deferred.Deferred<void>>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maximumFrameBytes,
    handleProtocols: chooseProtocol
  })

  const recordCount = Effect.suspend(() => Metric.set(openSockets, sockets.size))

  const enter = (userId: UserId) =>
    Effect.suspend(() => {
      const open = counts.get(userId) ?? 0
      if (open >= limits.perUser) return new SocketLimitReached({ limit: limits.perUser })
      counts.set(userId, open + 1)
      return Effect.void
    })
  const leave = (userId: UserId) =>
    Effect.sync(() => {
      const open = (counts.get(userId) ?? 1) - 1
      if (open === 0) counts.delete(userId)
      else counts.set(userId, open)
    })

  const live = (ws: WebSocket, holder: AgentSocket.SocketHolder) =>
    Effect.scoped(
      Effect.gen(function* () {
        const ended = yield* Deferred.make<void>()
        const { proof, user } = holder
        yield* credentials.watch(user.id, proof)(() => Deferred.unsafeDone(ended, Effect.void))
        const socket = yield* AgentSocket.make(ws, holder, answers, limits)
        yield* Effect.acquireRelease(
          Effect.zipRight(
            Effect.sync(() => sockets.set(socket, ended)),
            recordCount
          ),
          () =>
            Effect.zipRight(
              Effect.sync(() => sockets.delete(socket)),
              recordCount
            )
        )
        yield* Deferred.await(ended).pipe(
          Effect.zipRight(socket.close(SocketClose.unauthorized, "signed out")),
          Effect.forkScoped
        )
        yield* socket.closed
      })
    ).pipe(Effect.ensuring(leave(holder.user.id)))

  const open = Effect.fn("AgentSockets.open")(function* (
    request: HttpServerRequest.HttpServerRequest,
    holder: AgentSocket.SocketHolder
  ) {
    yield* enter(holder.user.id)
    const handshake = Effect.suspend(() => {
      restoreProtocols(request)
      return acceptWebSocket(request, server)
    })
    return yield* Effect.uninterruptible(
      Effect.flatMap(
        handshake,
        Option.match({
          onNone: () => Effect.as(leave(holder.user.id), false),
          // Forked outside of the request's span, which ends with the handshake.
          onSome: (ws) => Effect.sync(() => runFiber(live(ws, holder))).pipe(Effect.as(true))
        })
      )
    )
  })

  /** Sends changed statuses, and closes the sockets of deleted agents; one statement in total. */
  const updateStatuses = Effect.gen(function* () {
    if (sockets.size === 0) return
    const all = [...sockets]
    const statuses = yield* agents.findStatuses([...new Set(all.map(([{ holder }]) => holder.agent.id))])
    // For an agent deleted with its owner, the end of the credential closes the socket.
    if (all.some(([{ holder }]) => !statuses.has(holder.agent.id))) yield* credentials.revalidate
    yield* Effect.forEach(
      all,
      ([socket, ended]) => {
        const status = statuses.get(socket.holder.agent.id)
        if (status !== undefined) return socket.sendStatus(status)
        return Effect.unlessEffect(socket.close(SocketClose.gone, "the agent was deleted"), Deferred.isDone(ended))
      },
      { discard: true }
    )
  }).pipe(
    Effect.catchAllCause((cause) => Effect.logWarning("Statuses of sockets not read", cause)),
    Effect.withTracerEnabled(false)
  )
  yield* Effect.forkScoped(Effect.interruptible(Effect.schedule(updateStatuses, Schedule.spaced(limits.pollInterval))))

  // One timer for all sockets.
  const beat = Effect.sync(() => {
    for (const socket of sockets.keys()) socket.beat()
  })
  yield* Effect.forkScoped(Effect.interruptible(Effect.schedule(beat, Schedule.spaced(limits.heartbeat))))

  if (Option.isSome(idleAfter))
    yield* Effect.suspend(() => instances.recordUse([...counts.keys()])).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Use by open sockets not recorded", cause)),
      Effect.withTracerEnabled(false),
      Effect.schedule(Schedule.spaced(makeUseInterval(idleAfter.value))),
      Effect.interruptible,
      Effect.forkScoped
    )

  /** Completes answers within the drain limit, then closes the sockets; disconnects silent clients. */
  const end = Effect.suspend(() => {
    const all = [...sockets.keys()]
    const withLimit = (work: Effect.Effect<unknown>, limit: Duration.Duration) =>
      Effect.timeoutOption(Effect.interruptible(work), limit)
    const each = (work: (socket: AgentSocket.AgentSocket) => Effect.Effect<unknown>) =>
      Effect.forEach(all, work, { concurrency: "unbounded", discard: true })
    return withLimit(
      each((socket) => Effect.zipRight(socket.drain, socket.close(SocketClose.goingAway, "the service is stopping"))),
      drain
    ).pipe(
      Effect.zipRight(each((socket) => socket.close(SocketClose.goingAway, "the service is stopping"))),
      Effect.zipRight(
        withLimit(
          each((socket) => socket.closed),
          limits.closeTimeout
        )
      )
    )
  })
  yield* Effect.addFinalizer(() => end)

  return AgentSockets.of({ open })
})

export const layer = (options: AgentSocketsOptions) => Layer.scoped(AgentSockets, make(options))
