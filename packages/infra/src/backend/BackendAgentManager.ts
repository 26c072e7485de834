import { ReceivedTurnEvent } from "@berth/api/instances/AgentManagerApi"
import { makeKeepingAgent, postForStream } from "@berth/api/runtime/RuntimeExchange"
import { readRuntimeSource } from "@berth/api/runtime/RuntimeStream"
import { mapChunkFailure } from "@berth/domain/ai/streams/ChunkSource"
import type { UserId } from "@berth/domain/shared/UserId"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { type Turn, type TurnEvent, TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Duration, Effect, Layer, Redacted } from "effect"
import { applyStage, makeStage } from "../ai/vendor/ChunkStage.ts"
import {
  agentBackendUnreachable,
  type BackendClientOptions,
  callerHeaders,
  failTransportWith,
  logAndFail,
  makeBackendClient,
  type TransportFailure
} from "./BackendClient.ts"

/** Bounds the start of an instance. */
const lifecycleTimeout = Duration.seconds(60)
/** Bounds reads of stored state. */
const queryTimeout = Duration.seconds(10)
/** Maximum time between two events of a turn. */
const idleTimeout = Duration.seconds(90)

const interrupted = new BackendUnavailable({
  reason: "the agent backend broke off or sent an invalid answer. Try again later."
})
const idle = new BackendUnavailable({ reason: "the agent backend stopped answering. Try again later." })

const readTurn = readRuntimeSource(ReceivedTurnEvent, {
  idle: idleTimeout,
  total: Duration.infinity,
  onTimeout: () => idle
})

type Received = typeof ReceivedTurnEvent.Type
const isTurnEvent = (event: Received): event is TurnEvent => event.type !== "failed"

/** Ends with the failure reported by the backend. */
const endAtFailure = makeStage<Received, TurnEvent, TurnFailed | InstanceUnavailable>((events) => {
  const values: Array<TurnEvent> = []
  for (const event of events)
    if (isTurnEvent(event)) values.push(event)
    else
      return {
        values,
        failure: event.kind === "turn" ? new TurnFailed(event) : new InstanceUnavailable(event)
      }
  return { values }
})

export const layer = (options: BackendClientOptions) =>
  Layer.scoped(
    AgentManager,
    Effect.gen(function* () {
      const agent = yield* makeKeepingAgent
      const { api } = yield* makeBackendClient(options)
      const manager = api.agentManager

      const callManager = <A, E extends { readonly _tag: string }>(
        call: Effect.Effect<A, E | TransportFailure>,
        duration = lifecycleTimeout
      ) =>
        failTransportWith(agentBackendUnreachable)(call).pipe(
          Effect.timeoutFail({
            duration,
            onTimeout: () =>
              new BackendUnavailable({ reason: "the agent backend did not answer in time. Try again later." })
          })
        )

      const chat = Effect.fnUntraced(function* (userId: UserId, turn: Turn) {
        const { bytes, status } = yield* postForStream({
          url: new URL(`/internal/instances/${encodeURIComponent(userId)}/turns`, options.backendUrl),
          headers: {
            authorization: `Bearer ${Redacted.value(options.internalApiKey)}`,
            ...(yield* callerHeaders)
          },
          body: JSON.stringify(turn),
          agent,
          beginsAfterHead: true
        }).pipe(
          Effect.catchTag("ExchangeFailed", ({ cause }) => logAndFail(String(cause), agentBackendUnreachable)),
          Effect.timeoutFail({ duration: idleTimeout, onTimeout: () => idle })
        )
        // A 500 of the backend is a defect, as in a single process.
        if (status === 500) return yield* Effect.dieMessage("The backend answered with status 500")
        if (status !== 200) return yield* logAndFail(`status ${status}`, agentBackendUnreachable)
        return mapChunkFailure(applyStage(yield* readTurn(bytes), endAtFailure), (error) =>
          error._tag === "TurnFailed" || error._tag === "InstanceUnavailable" || error._tag === "BackendUnavailable"
            ? error
            : interrupted
        )
      })

      return AgentManager.of({
        deploy: (agentId) => callManager(manager.deploy({ path: { agentId } })),
        activate: (agentId) =>
          Effect.map(callManager(manager.activate({ path: { agentId } })), ({ activated }) => activated),
        failDeployment: (agentId, reason) =>
          callManager(manager.failDeployment({ path: { agentId }, payload: { reason } })),
        start: (userId) => callManager(manager.start({ path: { userId } })),
        stop: (userId) => callManager(manager.stop({ path: { userId } })),
        restart: (userId) => callManager(manager.restart({ path: { userId } })),
        update: (userId) => callManager(manager.update({ path: { userId } })),
        repair: (userId) => callManager(manager.repair({ path: { userId } })),
        reconfigure: (userId) => callManager(manager.reconfigure({ path: { userId } })),
        remove: (userId) => callManager(manager.remove({ path: { userId } })),
        logs: (userId, query) => callManager(manager.logs({ path: { userId }, urlParams: query }), queryTimeout),
        stats: (userId) =>
          Effect.map(callManager(manager.stats({ path: { userId } }), queryTimeout), ({ stats }) => stats),
        measureStorage: (userId) =>
          Effect.map(callManager(manager.measureStorage({ path: { userId } }), queryTimeout), ({ bytes }) => bytes),
        chat
      })
    })
  )
