import {
  CellNote,
  cellNotesPath,
  CellQuestion,
  cellRecallPath,
  CellRecollections,
  CellRefusal
} from "@berth/api/cell/CellContract"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import { Memory, MemoryFailed } from "./Memory.ts"

/** The memory that the backend keeps, asked for with the cell's own token. */
export const layer = (options: { readonly backendUrl: string; readonly token: Redacted.Redacted }) =>
  Layer.effect(
    Memory,
    Effect.map(HttpClient.HttpClient, (client) => {
      const send = (request: HttpClientRequest.HttpClientRequest, expected: number) =>
        client.execute(HttpClientRequest.bearerToken(HttpClientRequest.acceptJson(request), options.token)).pipe(
          Effect.mapError(() => new MemoryFailed({ reason: "The memory could not be reached." })),
          Effect.flatMap((response) => (response.status === expected ? Effect.succeed(response) : refused(response)))
        )
      const to = (path: string) => HttpClientRequest.post(new URL(path, options.backendUrl))
      return Memory.of({
        note: Effect.fn("Memory.note")((agentId, text) =>
          HttpClientRequest.schemaBodyJson(CellNote)(to(cellNotesPath), { agentId, text }).pipe(
            Effect.orDie,
            Effect.flatMap((request) => send(request, 204)),
            Effect.asVoid
          )
        ),
        recall: Effect.fn("Memory.recall")((agentId, query) =>
          HttpClientRequest.schemaBodyJson(CellQuestion)(to(cellRecallPath), { agentId, query }).pipe(
            Effect.orDie,
            Effect.flatMap((request) => send(request, 200)),
            Effect.flatMap((response) =>
              Effect.mapError(
                HttpClientResponse.schemaBodyJson(CellRecollections)(response),
                () => new MemoryFailed({ reason: "The memory answered in a way that is not understood." })
              )
            ),
            Effect.map(({ found }) => found)
          )
        )
      })
    })
  )

const decodeRefusal = Schema.decodeUnknownOption(Schema.parseJson(CellRefusal))

/** The backend's own sentence where it gave one. */
const refused = (response: HttpClientResponse.HttpClientResponse) =>
  response.text.pipe(
    Effect.orElseSucceed(() => ""),
    Effect.flatMap(
      (text) =>
        new MemoryFailed({
          reason: decodeRefusal(text).pipe(
            Option.map(({ message }) => message.slice(0, 500)),
            Option.getOrElse(() => `The memory answered with status ${response.status}.`)
          )
        })
    )
  )
