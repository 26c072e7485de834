import { RuntimePageQuery, runtimePagesPath } from "@berth/api/runtime/RuntimeContract"
import { PageNotReadable } from "@berth/domain/skills/web/WebPages"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Effect, Layer, Stream } from "effect"
import { type BackendAccess, readRefusal } from "../../Backend.ts"
import { PageSource } from "./PageSource.ts"

const notReadable = (reason: string) => new PageNotReadable({ reason })

/** Pages through the backend, since instances have no internet access. */
export const layer = ({ backendUrl, token }: BackendAccess) =>
  Layer.effect(
    PageSource,
    Effect.map(HttpClient.HttpClient, (client) =>
      PageSource.of({
        open: Effect.fn("PageSource.open")(function* ({ id: agentId, messageId }, url) {
          const response = yield* HttpClientRequest.post(new URL(runtimePagesPath, backendUrl)).pipe(
            HttpClientRequest.bearerToken(token),
            HttpClientRequest.schemaBodyJson(RuntimePageQuery)({ agentId, messageId, url }),
            Effect.orDie,
            Effect.flatMap(client.execute),
            Effect.mapError(() => notReadable("The backend could not be reached."))
          )
          const { "content-location": location = "", "content-type": contentType = "" } = response.headers
          if (response.status !== 200 || !URL.canParse(location))
            return yield* Effect.flatMap(readRefusal(response, "The backend"), notReadable)
          return {
            url: new URL(location),
            contentType,
            body: Stream.mapError(response.stream, () => notReadable("The page broke off in the middle."))
          }
        })
      })
    )
  )
