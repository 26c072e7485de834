import { makeSseParser } from "@berth/api/http/Sse"
import { ManagedTurnEvent } from "@berth/api/instances/AgentManagerApi"
import type { UserId } from "@berth/domain/shared/UserId"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { type Turn, type TurnEvent, TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Duration, Effect, Layer, Schema, Stream } from "effect"
import {
  type BackendClientOptions,
  failTransport,
  isTransportFailure,
  makeBackendClient,
  type TransportFailure
} from "./BackendClient.ts"

/** Bounds the start of an instance. */
const lifecycleTimeout = Duration.seconds(60)
/** Bounds reads of stored state. */
const queryTimeout = Duration.seconds(10)
/** Bounds the silence of a turn. */
const idleTimeout = Duration.seconds(90)

const unreachable = new BackendUnavailable({ reason: "it cannot be reached" })
const oversized = new BackendUnavailable({ reason: "it sent an event without an end" })
const idle = new BackendUnavailable({ reason: "it stopped answering" })

const parseEvents = <E>(texts: Stream.Stream<string, E>) =>
  Stream.suspend(() => {
    const parser = makeSseParser()
    return Stream.flatMap(texts, (text) =>
      Stream.concat(
        Stream.fromIterable(parser.push(text)),
        parser.hasOverflowed() ? Stream.fail(oversized) : Stream.empty
      )
    )
  })

const decodeEvent = Schema.decode(Schema.parseJson(ManagedTurnEvent))

/** The agent manager of another process, over the backend API. */
export const layer = (options: BackendClientOptions) =>
  Layer.effect(
    AgentManager,
    Effect.gen(function* () {
      const { api, http } = yield* makeBackendClient(options)
      const manager = api.agentManager

      const callManager = <A, E extends { readonly _tag: string }>(
        call: Effect.Effect<A, E | TransportFailure>,
        duration = lifecycleTimeout
      ) =>
        call.pipe(
          Effect.catchAll((error): Effect.Effect<never, E | BackendUnavailable> =>
            isTransportFailure<E>(error) ? failTransport(error, unreachable) : Effect.fail(error)
          ),
          Effect.timeoutFail({
            duration,
            onTimeout: () => new BackendUnavailable({ reason: "it did not answer in time" })
          })
        )

      const events = (userId: UserId, turn: Turn) =>
        http
          .execute(
            HttpClientRequest.post(`/internal/instances/${encodeURIComponent(userId)}/turns`).pipe(
              HttpClientRequest.bodyUnsafeJson(turn)
            )
          )
          .pipe(
            Effect.flatMap(HttpClientResponse.filterStatusOk),
            HttpClientResponse.stream,
            Stream.timeoutFail(() => idle, idleTimeout),
            Stream.decodeText(),
            parseEvents,
            Stream.mapEffect(({ data }) => decodeEvent(data)),
            Stream.catchAll((error) =>
              Stream.fromEffect(error._tag === "BackendUnavailable" ? error : failTransport(error, unreachable))
            )
          )

      const turnEvent = (event: ManagedTurnEvent): Effect.Effect<TurnEvent, TurnFailed | InstanceUnavailable> =>
        event.type !== "error"
          ? Effect.succeed(event)
          : Effect.fail(
              event.kind === "turn"
                ? new TurnFailed({ reason: event.reason })
                : new InstanceUnavailable({ reason: event.reason })
            )

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
        chat: (userId, turn) => Stream.mapEffect(events(userId, turn), turnEvent)
      })
    })
  )
