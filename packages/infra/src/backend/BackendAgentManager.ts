import { BackendApi } from "@berth/api/BackendApi"
import { makeSseParser } from "@berth/api/http/Sse"
import type { InternalKeyRequired } from "@berth/api/http/InternalAuth"
import { ManagedTurnEvent } from "@berth/api/instances/AgentManagerApi"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { type Turn, type TurnEvent, TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import {
  type HttpApiError,
  HttpApiClient,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  HttpClientResponse
} from "@effect/platform"
import { Duration, Effect, Layer, type ParseResult, type Redacted, Schema, Stream } from "effect"
import { addCallerHeaders } from "./CallerHeaders.ts"
import type { UserId } from "@berth/domain/shared/UserId"

export interface BackendClientOptions {
  readonly backendUrl: string
  readonly internalApiKey: Redacted.Redacted
}

/** A start of an instance may take this long. */
const lifecycleTimeout = Duration.seconds(60)
/** A question that is answered from what is there. */
const queryTimeout = Duration.seconds(10)
/** A turn that says nothing for this long is cut. */
const idleTimeout = Duration.seconds(90)

const unreachable = new BackendUnavailable({ reason: "it cannot be reached" })
const oversized = new BackendUnavailable({ reason: "it sent an event without an end" })
const idle = new BackendUnavailable({ reason: "it stopped answering" })

/** An answered 500 is the backend's own fault, and is one here too: in one process or two, a caller hears the same. */
export const isInternalFailure = (error: { readonly _tag: string }) =>
  error instanceof HttpClientError.ResponseError && error.response.status === 500

/** What went wrong on the way is for the log; the caller hears no address of ours. */
const asUnavailable = (error: TransportFailure) =>
  isInternalFailure(error)
    ? Effect.die(error)
    : Effect.zipRight(
        Effect.logWarning("The backend cannot be reached").pipe(Effect.annotateLogs("reason", error.message)),
        unreachable
      )

export type TransportFailure =
  HttpClientError.HttpClientError | ParseResult.ParseError | HttpApiError.HttpApiDecodeError | InternalKeyRequired

const transportTags: ReadonlyArray<string> = [
  "RequestError",
  "ResponseError",
  "ParseError",
  "HttpApiDecodeError",
  "InternalKeyRequired"
] satisfies ReadonlyArray<TransportFailure["_tag"]>

export const isTransportFailure = <E extends { readonly _tag: string }>(
  error: E | TransportFailure
): error is TransportFailure => transportTags.includes(error._tag)

/** The events of a stream's text. */
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
      const http = HttpClient.mapRequest(yield* HttpClient.HttpClient, (request) =>
        request.pipe(
          HttpClientRequest.prependUrl(options.backendUrl.replace(/\/$/, "")),
          HttpClientRequest.bearerToken(options.internalApiKey)
        )
      ).pipe(HttpClient.mapRequestEffect(addCallerHeaders))
      const backend = yield* HttpApiClient.makeWith(BackendApi, { httpClient: http })
      const manager = backend.agentManager

      /** What is neither the answer nor an error of the contract means that the backend is not there, or not itself. */
      const asked = <A, E extends { readonly _tag: string }>(
        call: Effect.Effect<A, E | TransportFailure>,
        duration = lifecycleTimeout
      ) =>
        call.pipe(
          Effect.catchAll((error): Effect.Effect<never, E | BackendUnavailable> =>
            isTransportFailure<E>(error) ? asUnavailable(error) : Effect.fail(error)
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
              Stream.fromEffect(error._tag === "BackendUnavailable" ? error : asUnavailable(error))
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
        deploy: (agentId) => asked(manager.deploy({ path: { agentId } })),
        failDeployment: (agentId, reason) => asked(manager.failDeployment({ path: { agentId }, payload: { reason } })),
        start: (userId) => asked(manager.start({ path: { userId } })),
        stop: (userId) => asked(manager.stop({ path: { userId } })),
        restart: (userId) => asked(manager.restart({ path: { userId } })),
        update: (userId) => asked(manager.update({ path: { userId } })),
        repair: (userId) => asked(manager.repair({ path: { userId } })),
        reconfigure: (userId) => asked(manager.reconfigure({ path: { userId } })),
        remove: (userId) => asked(manager.remove({ path: { userId } })),
        logs: (userId, query) => asked(manager.logs({ path: { userId }, urlParams: query }), queryTimeout),
        stats: (userId) => Effect.map(asked(manager.stats({ path: { userId } }), queryTimeout), ({ stats }) => stats),
        chat: (userId, turn) => Stream.mapEffect(events(userId, turn), turnEvent)
      })
    })
  )
