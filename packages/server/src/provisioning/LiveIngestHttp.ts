import { streamKeyHeader } from "@berth/api/provisioning/live-streams/LiveStreamsApi"
import { WebApi } from "@berth/api/WebApi"
import { LiveIngest } from "@berth/domain/provisioning/live-streams/LiveIngest"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

interface IngestCall {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly path: { readonly file: string }
}

const keyOf = ({ headers }: HttpServerRequest.HttpServerRequest) => Redacted.make(headers[streamKeyHeader] ?? "")
// ffmpeg closes its connection without waiting for the response.
const complete = { uninterruptible: true }
const done = HttpServerResponse.empty({ status: 204 })

export const layer = group(WebApi, "liveIngest", (handlers) =>
  Effect.gen(function* () {
    const ingest = yield* LiveIngest

    const upload = ({ path, request }: IngestCall) =>
      ingest
        .upload(
          keyOf(request),
          path.file,
          // The pipeline responds to invalid bodies.
          Effect.map(Effect.orDie(request.arrayBuffer), (body) => new Uint8Array(body))
        )
        .pipe(Effect.tapErrorTag("LiveLimitReached", addRetryAfter), Effect.as(done))

    return handlers
      .handleRaw("upload", upload, complete)
      .handleRaw("uploadByPost", upload, complete)
      .handleRaw("remove", ({ path, request }) => Effect.as(ingest.removeFile(keyOf(request), path.file), done))
  })
)
