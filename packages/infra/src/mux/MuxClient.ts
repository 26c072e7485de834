import { HttpClient, HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Effect, type Redacted, Redacted as Secret, Schema } from "effect"
import { makeApiCall } from "../net/ApiCalls.ts"

export interface MuxAccess {
  readonly tokenId: string
  readonly tokenSecret: Redacted.Redacted
  readonly apiUrl: URL
}

const LiveStream = Schema.Struct({
  id: Schema.String,
  stream_key: Schema.Redacted(Schema.String),
  status: Schema.Literal("idle", "active", "disabled"),
  playback_ids: Schema.optionalWith(Schema.Array(Schema.Struct({ id: Schema.String, policy: Schema.String })), {
    default: () => []
  })
})
const Answer = Schema.Struct({ data: LiveStream })
const Page = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })
const pageSize = 100
const Refusal = Schema.Struct({ error: Schema.Struct({ type: Schema.String, messages: Schema.Array(Schema.String) }) })

/** Client of the live-stream endpoints in the Mux Video API. Every call has a timeout. */
export const makeMuxClient = ({ apiUrl, tokenId, tokenSecret }: MuxAccess) =>
  Effect.map(HttpClient.HttpClient, (client) => {
    const http = HttpClient.mapRequest(client, (request) =>
      request.pipe(
        HttpClientRequest.prependUrl(`${apiUrl.href.replace(/\/$/, "")}/video/v1/live-streams`),
        HttpClientRequest.basicAuth(Secret.make(tokenId), tokenSecret),
        HttpClientRequest.acceptJson
      )
    )

    const send = makeApiCall(http, (response) =>
      Effect.match(HttpClientResponse.schemaBodyJson(Refusal)(response), {
        onSuccess: ({ error }) => `${error.type}: ${error.messages.join(" ")}`,
        onFailure: () => "no reason given"
      })
    )

    const readStream = (response: HttpClientResponse.HttpClientResponse) =>
      Effect.map(HttpClientResponse.schemaBodyJson(Answer)(response), ({ data }) => data)

    return {
      create: (passthrough: string) =>
        send(
          HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post(""), {
            playback_policy: ["public"],
            latency_mode: "low",
            passthrough
          }),
          readStream
        ),
      resetKey: (id: string) => send(HttpClientRequest.post(`/${encodeURIComponent(id)}/reset-stream-key`), readStream),
      find: (id: string) => send(HttpClientRequest.get(`/${encodeURIComponent(id)}`), readStream),
      /** Lists the ids of streams in broadcast, by pages from 1. */
      listActive: (page: number) =>
        send(
          HttpClientRequest.get("").pipe(HttpClientRequest.setUrlParams({ status: "active", limit: pageSize, page })),
          (response) =>
            Effect.map(HttpClientResponse.schemaBodyJson(Page)(response), ({ data }) => ({
              ids: data.map(({ id }) => id),
              isLast: data.length < pageSize
            }))
        ),
      remove: (id: string) => send(HttpClientRequest.del(`/${encodeURIComponent(id)}`), () => Effect.void)
    }
  })
