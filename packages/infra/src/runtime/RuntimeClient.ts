import {
  RuntimeConfiguration,
  RuntimeHealth,
  RuntimePaths,
  RuntimeStats,
  RuntimeErrorBody,
  RuntimeStorage,
  RuntimeTurnEvent
} from "@berth/api/runtime/RuntimeContract"
import { sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { RuntimeErrors } from "@berth/api/runtime/RuntimeErrors"
import { type ExchangeFailed, postForStream, readBodyText } from "@berth/api/runtime/RuntimeExchange"
import { readRuntimeSource, type RuntimeSource } from "@berth/api/runtime/RuntimeStream"
import { makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import type { Turn } from "@berth/domain/instances/AgentRuntime"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Data, Duration, Effect, Option, type ParseResult, Redacted, Schema, type Scope } from "effect"
import { isConnectionRefused } from "./ConnectionRefusal.ts"
import { turnAgent } from "./UnixSocketClient.ts"

/** The response is missing or unreadable. `unsent`: there was no connection, so nothing was sent. */
export class RuntimeUnresponsive extends Data.TaggedError("RuntimeUnresponsive")<{
  readonly reason: string
  readonly unsent?: boolean | undefined
}> {}
export class RuntimeRequestRejected extends Data.TaggedError("RuntimeRequestRejected")<{
  readonly status: number
  readonly message: string
}> {}

export interface RuntimeEndpoint {
  readonly endpoint: string
  readonly token: Redacted.Redacted
}

/** Protocol of Berth's runtime. */
export interface RuntimeClient {
  readonly health: (
    runtime: RuntimeEndpoint
  ) => Effect.Effect<RuntimeHealth, RuntimeUnresponsive | RuntimeRequestRejected>
  /** Bytes of all agents' files; none for a runtime of an earlier release. */
  readonly measureStorage: (
    runtime: RuntimeEndpoint
  ) => Effect.Effect<Option.Option<number>, RuntimeUnresponsive | RuntimeRequestRejected>
  readonly stats: (
    runtime: RuntimeEndpoint
  ) => Effect.Effect<RuntimeStats, RuntimeUnresponsive | RuntimeRequestRejected>
  readonly configure: (
    runtime: RuntimeEndpoint,
    configuration: RuntimeConfiguration
  ) => Effect.Effect<void, RuntimeUnresponsive | RuntimeRequestRejected>
  /** Returns after the runtime has accepted the turn. Closing the scope ends the turn. */
  readonly turn: (
    runtime: RuntimeEndpoint,
    turn: Turn
  ) => Effect.Effect<
    RuntimeSource<RuntimeTurnEvent, RuntimeUnresponsive | ExchangeFailed>,
    RuntimeUnresponsive | RuntimeRequestRejected,
    Scope.Scope
  >
}

/** The runtime sends a turn's response head before it calls the model. */
const headTimeout = Duration.seconds(10)
const healthTimeout = Duration.seconds(2)
/** Three missed keep-alives. */
const idleTimeout = Duration.seconds(3 * sseKeepAliveSeconds)
const turnTimeout = Duration.minutes(30)

/** `timers`: shared by all turns. */
export const make = (anyClient: HttpClient.HttpClient, timers = makeIdleTimeouts): RuntimeClient => {
  const readTurn = readRuntimeSource(RuntimeTurnEvent, {
    idle: idleTimeout,
    total: turnTimeout,
    onTimeout: () => new RuntimeUnresponsive({ reason: "it stopped sending, or its answer does not end" }),
    timers
  })
  // The runtime is part of the platform, so its spans join the caller's trace.
  const client = HttpClient.withTracerPropagation(anyClient, true)

  const send = (
    runtime: RuntimeEndpoint,
    request: HttpClientRequest.HttpClientRequest,
    expected: number,
    within: Duration.Duration
  ) =>
    request.pipe(
      HttpClientRequest.prependUrl(runtime.endpoint),
      HttpClientRequest.bearerToken(runtime.token),
      client.execute,
      Effect.mapError((error) => noConnection(error.reason, error)),
      awaitHead(within),
      Effect.flatMap((response) =>
        response.status === expected ? Effect.succeed(response) : reject(response.status, readBody(response))
      )
    )

  /** Reads without a trace, since health and figures are read every few seconds. */
  const read = <A>(
    runtime: RuntimeEndpoint,
    path: string,
    name: string,
    decode: (body: string) => Effect.Effect<A, ParseResult.ParseError>,
    within = healthTimeout
  ) =>
    send(runtime, HttpClientRequest.get(path), 200, within).pipe(
      Effect.flatMap((response) =>
        readBody(response).pipe(
          Effect.flatMap(decode),
          Effect.timeout(within),
          Effect.mapError(() => new RuntimeUnresponsive({ reason: `its ${name} response is malformed` }))
        )
      ),
      Effect.withTracerEnabled(false)
    )

  return {
    health: (runtime) => read(runtime, RuntimePaths.health, "health", decodeHealth),
    stats: (runtime) => read(runtime, RuntimePaths.stats, "stats", decodeStats),
    measureStorage: (runtime) =>
      read(runtime, RuntimePaths.storage, "storage", decodeStorage, headTimeout).pipe(
        Effect.map(({ bytes }) => Option.some(bytes)),
        Effect.catchIf(
          (error) => error._tag === "RuntimeRequestRejected" && error.status === RuntimeErrors.routeNotFound.status,
          () => Effect.succeedNone
        )
      ),
    configure: (runtime, configuration) =>
      HttpClientRequest.put(RuntimePaths.configuration).pipe(
        HttpClientRequest.schemaBodyJson(RuntimeConfiguration)(configuration),
        Effect.orDie,
        Effect.flatMap((request) => send(runtime, request, 204, headTimeout)),
        Effect.asVoid
      ),
    turn: ({ endpoint, token }, turn) =>
      Effect.flatMap(timers, (shared) =>
        postForStream({
          url: new URL(RuntimePaths.turns, endpoint),
          headers: { authorization: `Bearer ${Redacted.value(token)}` },
          body: encodeTurn(turn),
          agent: turnAgent,
          beginsAfterHead: true,
          headTimeout: { timers: shared, after: headTimeout }
        })
      ).pipe(
        Effect.mapError(({ cause, hasTimedOut }) =>
          hasTimedOut === true ? noAnswer(headTimeout) : noConnection("Transport", cause)
        ),
        Effect.flatMap(({ bytes, status }) => (status === 200 ? readTurn(bytes) : reject(status, readBodyText(bytes))))
      )
  }
}

const noConnection = (reason: string, cause: unknown) =>
  new RuntimeUnresponsive({ reason: `no connection (${reason})`, unsent: isConnectionRefused(cause) })

const noAnswer = (within: Duration.Duration) =>
  new RuntimeUnresponsive({ reason: `no answer within ${Duration.format(within)}` })

const awaitHead = (within: Duration.Duration) =>
  Effect.timeoutFail({ duration: within, onTimeout: () => noAnswer(within) })

/** Hot path: a turn is its own encoded form, and its history is long. */
const encodeTurn = (turn: typeof Turn.Encoded): string => JSON.stringify(turn)

/** Longer bodies close the connection. */
const readBody = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.scoped(Effect.flatMap(makeChunkSource(response.stream), readBodyText))

const decodeHealth = Schema.decodeUnknown(Schema.parseJson(RuntimeHealth))
const decodeStorage = Schema.decodeUnknown(Schema.parseJson(RuntimeStorage))
const decodeStats = Schema.decodeUnknown(Schema.parseJson(RuntimeStats))
const decodeErrorBody = Schema.decodeUnknownOption(Schema.parseJson(RuntimeErrorBody))

const reject = (status: number, body: Effect.Effect<string, unknown>): Effect.Effect<never, RuntimeRequestRejected> =>
  body.pipe(
    Effect.timeout(headTimeout),
    Effect.orElseSucceed(() => ""),
    Effect.flatMap(
      (text) =>
        new RuntimeRequestRejected({
          status,
          message: decodeErrorBody(text).pipe(
            Option.map(({ message }) => message.slice(0, 500)),
            Option.getOrElse(() => `status ${status}`)
          )
        })
    )
  )
