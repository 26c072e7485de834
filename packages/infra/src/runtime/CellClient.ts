import { CellConfiguration, CellHealth, CellPaths, CellRefusal, CellTurnEvent } from "@berth/api/cell/CellContract"
import { keepAliveSeconds } from "@berth/api/cell/CellFrames"
import { cellEvents, type CellStreamProblem } from "@berth/api/cell/CellStream"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import * as Sse from "@effect/experimental/Sse"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Data, Duration, Effect, Option, type Redacted, Schema, Stream } from "effect"
import { wasRefused } from "./RefusedConnection.ts"

/** Nothing came back, or nothing that can be read. `unsent`: there was no connection to send anything over. */
export class CellDoesNotAnswer extends Data.TaggedError("CellDoesNotAnswer")<{
  readonly reason: string
  readonly unsent?: boolean | undefined
}> {}
/** The cell answered that it will not. */
export class CellRefused extends Data.TaggedError("CellRefused")<{
  readonly status: number
  readonly message: string
}> {}

/** Where a cell listens, and its own token. */
export interface CellAddressee {
  readonly endpoint: string
  readonly token: Redacted.Redacted
}

type TurnEvent = Exclude<CellTurnEvent, { readonly type: "error" }>

/** Berth's own runtime in its own words. */
export interface CellClient {
  readonly health: (cell: CellAddressee) => Effect.Effect<CellHealth, CellDoesNotAnswer | CellRefused>
  readonly configure: (
    cell: CellAddressee,
    configuration: CellConfiguration
  ) => Effect.Effect<void, CellDoesNotAnswer | CellRefused>
  readonly turn: (
    cell: CellAddressee,
    turn: Turn
  ) => Stream.Stream<TurnEvent, CellDoesNotAnswer | CellRefused | CellStreamProblem>
}

/** A cell is a process on this machine or next to it, and answers a turn's head before it asks the model. */
const headWithin = Duration.seconds(10)
const healthWithin = Duration.seconds(2)
/** Three keep-alives missed. */
const silentFor = Duration.seconds(3 * keepAliveSeconds)

export const make = (anyClient: HttpClient.HttpClient): CellClient => {
  // Cells are ours: their spans belong to the trace of whoever asked.
  const client = HttpClient.withTracerPropagation(anyClient, true)

  const send = (
    cell: CellAddressee,
    request: HttpClientRequest.HttpClientRequest,
    expected: number,
    within: Duration.Duration
  ) =>
    request.pipe(
      HttpClientRequest.prependUrl(cell.endpoint),
      HttpClientRequest.bearerToken(cell.token),
      client.execute,
      Effect.mapError(
        (error) => new CellDoesNotAnswer({ reason: `no connection (${error.reason})`, unsent: wasRefused(error) })
      ),
      Effect.timeoutFail({
        duration: within,
        onTimeout: () => new CellDoesNotAnswer({ reason: `no answer within ${Duration.format(within)}` })
      }),
      Effect.flatMap((response) =>
        response.status === expected ? Effect.succeed(response) : Effect.flatMap(refusalOf(response), Effect.fail)
      )
    )

  return {
    health: (cell) =>
      send(cell, HttpClientRequest.get(CellPaths.health), 200, healthWithin).pipe(
        Effect.flatMap((response) =>
          HttpClientResponse.schemaBodyJson(CellHealth)(response).pipe(
            Effect.timeout(healthWithin),
            Effect.mapError(() => new CellDoesNotAnswer({ reason: "its health is not understood" }))
          )
        ),
        Effect.withTracerEnabled(false)
      ),
    configure: (cell, configuration) =>
      HttpClientRequest.put(CellPaths.configuration).pipe(
        HttpClientRequest.schemaBodyJson(CellConfiguration)(configuration),
        Effect.orDie,
        Effect.flatMap((request) => send(cell, request, 204, headWithin)),
        Effect.asVoid
      ),
    turn: (cell, turn) =>
      HttpClientRequest.post(CellPaths.turns).pipe(
        HttpClientRequest.schemaBodyJson(Turn)(turn),
        Effect.orDie,
        Effect.flatMap((request) => send(cell, request, 200, headWithin)),
        Effect.map((response) =>
          response.stream.pipe(
            Stream.mapError(() => new CellDoesNotAnswer({ reason: "the connection was lost" })),
            Stream.timeoutFail(() => new CellDoesNotAnswer({ reason: "it fell silent" }), silentFor),
            Stream.decodeText(),
            cellEvents(CellTurnEvent, Sse.makeParser)
          )
        ),
        Stream.unwrap
      )
  }
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.parseJson(CellRefusal))

const refusalOf = (response: HttpClientResponse.HttpClientResponse) =>
  response.text.pipe(
    Effect.timeout(headWithin),
    Effect.orElseSucceed(() => ""),
    Effect.map(
      (text) =>
        new CellRefused({
          status: response.status,
          message: decodeRefusal(text).pipe(
            Option.map(({ message }) => message.slice(0, 500)),
            Option.getOrElse(() => `status ${response.status}`)
          )
        })
    )
  )
