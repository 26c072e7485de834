import {
  RuntimeConfiguration,
  RuntimeHealth,
  RuntimePaths,
  RuntimeErrorBody,
  RuntimeTurnEvent
} from "@berth/api/runtime/RuntimeContract"
import { sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { parseRuntimeEvents, type RuntimeStreamProblem } from "@berth/api/runtime/RuntimeStream"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Data, Duration, Effect, Option, type Redacted, Schema, Stream } from "effect"
import { isConnectionRefused } from "./ConnectionRefusal.ts"

/** Nothing came back, or nothing that can be read. `unsent`: there was no connection to send anything over. */
export class RuntimeUnresponsive extends Data.TaggedError("RuntimeUnresponsive")<{
  readonly reason: string
  readonly unsent?: boolean | undefined
}> {}
/** The cell answered that it will not. */
export class RuntimeRequestRejected extends Data.TaggedError("RuntimeRequestRejected")<{
  readonly status: number
  readonly message: string
}> {}

/** Where a cell listens, and its own token. */
export interface RuntimeEndpoint {
  readonly endpoint: string
  readonly token: Redacted.Redacted
}

type TurnEvent = Exclude<RuntimeTurnEvent, { readonly type: "error" }>

/** Berth's own runtime in its own words. */
export interface RuntimeClient {
  readonly health: (cell: RuntimeEndpoint) => Effect.Effect<RuntimeHealth, RuntimeUnresponsive | RuntimeRequestRejected>
  readonly configure: (
    cell: RuntimeEndpoint,
    configuration: RuntimeConfiguration
  ) => Effect.Effect<void, RuntimeUnresponsive | RuntimeRequestRejected>
  readonly turn: (
    cell: RuntimeEndpoint,
    turn: Turn
  ) => Stream.Stream<TurnEvent, RuntimeUnresponsive | RuntimeRequestRejected | RuntimeStreamProblem>
}

/** A cell is a process on this machine or next to it, and answers a turn's head before it asks the model. */
const headTimeout = Duration.seconds(10)
const healthTimeout = Duration.seconds(2)
/** Three keep-alives missed. */
const idleTimeout = Duration.seconds(3 * sseKeepAliveSeconds)

export const make = (anyClient: HttpClient.HttpClient): RuntimeClient => {
  // Cells are ours: their spans belong to the trace of whoever asked.
  const client = HttpClient.withTracerPropagation(anyClient, true)

  const send = (
    cell: RuntimeEndpoint,
    request: HttpClientRequest.HttpClientRequest,
    expected: number,
    within: Duration.Duration
  ) =>
    request.pipe(
      HttpClientRequest.prependUrl(cell.endpoint),
      HttpClientRequest.bearerToken(cell.token),
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
    health: (cell) =>
      send(cell, HttpClientRequest.get(RuntimePaths.health), 200, healthTimeout).pipe(
        Effect.flatMap((response) =>
          HttpClientResponse.schemaBodyJson(RuntimeHealth)(response).pipe(
            Effect.timeout(healthTimeout),
            Effect.mapError(() => new RuntimeUnresponsive({ reason: "its health is not understood" }))
          )
        ),
        Effect.withTracerEnabled(false)
      ),
    configure: (cell, configuration) =>
      HttpClientRequest.put(RuntimePaths.configuration).pipe(
        HttpClientRequest.schemaBodyJson(RuntimeConfiguration)(configuration),
        Effect.orDie,
        Effect.flatMap((request) => send(cell, request, 204, headTimeout)),
        Effect.asVoid
      ),
    turn: (cell, turn) =>
      HttpClientRequest.post(RuntimePaths.turns).pipe(
        HttpClientRequest.schemaBodyJson(Turn)(turn),
        Effect.orDie,
        Effect.flatMap((request) => send(cell, request, 200, headTimeout)),
        Effect.map((response) =>
          response.stream.pipe(
            Stream.mapError(() => new RuntimeUnresponsive({ reason: "the connection was lost" })),
            Stream.timeoutFail(() => new RuntimeUnresponsive({ reason: "it fell silent" }), idleTimeout),
            Stream.decodeText(),
            parseRuntimeEvents(RuntimeTurnEvent)
          )
        ),
        Stream.unwrap
      )
  }
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.parseJson(RuntimeErrorBody))

const toRequestRejected = (response: HttpClientResponse.HttpClientResponse) =>
  response.text.pipe(
    Effect.timeout(headTimeout),
    Effect.orElseSucceed(() => ""),
    Effect.map(
      (text) =>
        new RuntimeRequestRejected({
          status: response.status,
          message: decodeRefusal(text).pipe(
            Option.map(({ message }) => message.slice(0, 500)),
            Option.getOrElse(() => `status ${response.status}`)
          )
        })
    )
  )
