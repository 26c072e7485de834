import {
  RuntimeConfiguration,
  RuntimeHealth,
  RuntimePaths,
  RuntimeErrorBody,
  RuntimeTurnEvent
} from "@berth/api/runtime/RuntimeContract"
import { sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { readRuntimeEvents, type RuntimeStreamProblem } from "@berth/api/runtime/RuntimeStream"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Array, Data, Duration, Effect, Option, type Redacted, Schema, Stream } from "effect"
import { isConnectionRefused } from "./ConnectionRefusal.ts"

/** No response, or an unreadable one. `unsent`: there was no connection, so nothing was sent. */
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

type TurnEvent = Exclude<RuntimeTurnEvent, { readonly type: "error" }>

/** The protocol of Berth's own runtime. */
export interface RuntimeClient {
  readonly health: (
    runtime: RuntimeEndpoint
  ) => Effect.Effect<RuntimeHealth, RuntimeUnresponsive | RuntimeRequestRejected>
  readonly configure: (
    runtime: RuntimeEndpoint,
    configuration: RuntimeConfiguration
  ) => Effect.Effect<void, RuntimeUnresponsive | RuntimeRequestRejected>
  readonly turn: (
    runtime: RuntimeEndpoint,
    turn: Turn
  ) => Stream.Stream<TurnEvent, RuntimeUnresponsive | RuntimeRequestRejected | RuntimeStreamProblem>
}

/** The runtime sends a turn's response head before it calls the model. */
const headTimeout = Duration.seconds(10)
const healthTimeout = Duration.seconds(2)
/** Three missed keep-alives. */
const idleTimeout = Duration.seconds(3 * sseKeepAliveSeconds)
const turnTimeout = Duration.minutes(30)
/** Bytes of a response that is no stream. */
const maximumBodyBytes = 64 * 1024

export const make = (anyClient: HttpClient.HttpClient): RuntimeClient => {
  // The runtime is part of the platform: its spans join the caller's trace.
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
      Effect.mapError(
        (error) =>
          new RuntimeUnresponsive({ reason: `no connection (${error.reason})`, unsent: isConnectionRefused(error) })
      ),
      Effect.timeoutFail({
        duration: within,
        onTimeout: () => new RuntimeUnresponsive({ reason: `no answer within ${Duration.format(within)}` })
      }),
      Effect.flatMap((response) =>
        response.status === expected
          ? Effect.succeed(response)
          : Effect.flatMap(toRequestRejected(response), Effect.fail)
      )
    )

  return {
    health: (runtime) =>
      send(runtime, HttpClientRequest.get(RuntimePaths.health), 200, healthTimeout).pipe(
        Effect.flatMap((response) =>
          readBody(response).pipe(
            Effect.flatMap(decodeHealth),
            Effect.timeout(healthTimeout),
            Effect.mapError(() => new RuntimeUnresponsive({ reason: "its health response is malformed" }))
          )
        ),
        Effect.withTracerEnabled(false)
      ),
    configure: (runtime, configuration) =>
      HttpClientRequest.put(RuntimePaths.configuration).pipe(
        HttpClientRequest.schemaBodyJson(RuntimeConfiguration)(configuration),
        Effect.orDie,
        Effect.flatMap((request) => send(runtime, request, 204, headTimeout)),
        Effect.asVoid
      ),
    turn: (runtime, turn) =>
      HttpClientRequest.post(RuntimePaths.turns).pipe(
        HttpClientRequest.schemaBodyJson(Turn)(turn),
        Effect.orDie,
        Effect.flatMap((request) => send(runtime, request, 200, headTimeout)),
        Effect.map((response) =>
          response.stream.pipe(
            Stream.mapError(() => new RuntimeUnresponsive({ reason: "the connection was lost" })),
            readRuntimeEvents(RuntimeTurnEvent, {
              idle: idleTimeout,
              total: turnTimeout,
              onTimeout: () => new RuntimeUnresponsive({ reason: "it stopped sending, or its answer does not end" })
            })
          )
        ),
        Stream.unwrap
      )
  }
}

class RuntimeBodyOversized extends Data.TaggedError("RuntimeBodyOversized")<object> {}

/** Reads a whole body up to the limit; a longer one closes the connection. */
const readBody = (response: HttpClientResponse.HttpClientResponse) =>
  response.stream.pipe(
    Stream.runFoldEffect({ length: 0, parts: Array.empty<Uint8Array>() }, ({ length, parts }, part) =>
      length + part.length > maximumBodyBytes
        ? new RuntimeBodyOversized()
        : Effect.succeed({ length: length + part.length, parts: [...parts, part] })
    ),
    Effect.map(({ parts }) => Buffer.concat(parts).toString("utf8"))
  )

const decodeHealth = Schema.decodeUnknown(Schema.parseJson(RuntimeHealth))
const decodeErrorBody = Schema.decodeUnknownOption(Schema.parseJson(RuntimeErrorBody))

const toRequestRejected = (response: HttpClientResponse.HttpClientResponse) =>
  readBody(response).pipe(
    Effect.timeout(headTimeout),
    Effect.orElseSucceed(() => ""),
    Effect.map(
      (text) =>
        new RuntimeRequestRejected({
          status: response.status,
          message: decodeErrorBody(text).pipe(
            Option.map(({ message }) => message.slice(0, 500)),
            Option.getOrElse(() => `status ${response.status}`)
          )
        })
    )
  )
