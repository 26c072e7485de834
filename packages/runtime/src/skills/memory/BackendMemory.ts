import {
  RuntimeNote,
  runtimeNotesPath,
  RuntimeRecallQuery,
  runtimeRecallPath,
  RuntimeRecollections
} from "@berth/api/runtime/RuntimeContract"
import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, Layer } from "effect"
import { type BackendAccess, readRefusal } from "../../Backend.ts"
import { Memory } from "./Memory.ts"

/** The backend's memory, with the runtime token. */
export const layer = (options: BackendAccess) =>
  Layer.effect(
    Memory,
    Effect.map(HttpClient.HttpClient, (client) => {
      const send = (request: HttpClientRequest.HttpClientRequest, expected: number) =>
        client.execute(HttpClientRequest.bearerToken(HttpClientRequest.acceptJson(request), options.token)).pipe(
          Effect.mapError(() => new ToolFailed({ reason: "The memory could not be reached." })),
          Effect.flatMap((response) =>
            response.status === expected
              ? Effect.succeed(response)
              : Effect.flatMap(readRefusal(response, "The memory"), (reason) => new ToolFailed({ reason }))
          )
        )
      const to = (path: string) => HttpClientRequest.post(new URL(path, options.backendUrl))
      return Memory.of({
        note: Effect.fn("Memory.note")(({ id: agentId, messageId }, text) =>
          HttpClientRequest.schemaBodyJson(RuntimeNote)(to(runtimeNotesPath), { agentId, messageId, text }).pipe(
            Effect.orDie,
            Effect.flatMap((request) => send(request, 204)),
            Effect.asVoid
          )
        ),
        recall: Effect.fn("Memory.recall")(({ id: agentId, messageId }, query) =>
          HttpClientRequest.schemaBodyJson(RuntimeRecallQuery)(to(runtimeRecallPath), {
            agentId,
            messageId,
            query
          }).pipe(
            Effect.orDie,
            Effect.flatMap((request) => send(request, 200)),
            Effect.flatMap((response) =>
              Effect.mapError(
                HttpClientResponse.schemaBodyJson(RuntimeRecollections)(response),
                () => new ToolFailed({ reason: "The memory answered in a way that is not understood." })
              )
            ),
            Effect.map(({ found }) => found)
          )
        )
      })
    })
  )
