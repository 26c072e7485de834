import { liveContentTypes } from "@berth/domain/provisioning/live-streams/LiveFile"
import { LiveStreamId, LiveStreamStatus } from "@berth/domain/provisioning/live-streams/LiveStream"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentOwner } from "../../agents/OwnedAgent.ts"
import { CrossOrigin } from "../../http/CrossOrigin.ts"
import { recordOf } from "../../http/OpenApiExamples.ts"
import { Timestamp } from "../../http/Timestamp.ts"
import {
  BodyMalformedBody,
  BodyTooLargeBody,
  InternalFailureBody,
  RequestTimeoutBody
} from "../../http/TransportErrors.ts"
import { queryInteger } from "../../http/Pagination.ts"
import { acceptApiKeys } from "../../sessions/RequiredScope.ts"
import {
  LiveFileNameInvalidBody,
  LiveLimitReachedBody,
  LivePlaylistInvalidBody,
  LiveRangeUnsatisfiableBody,
  LiveReloadInvalidBody,
  LiveReloadTimedOutBody,
  LiveStreamNotFoundBody,
  LiveStreamsUnavailableBody
} from "./LiveStreamErrorBodies.ts"

const livePath = "/live/"
export const ingestPath = `${livePath}ingest/`
/** Header to which the listener moves the stream key of the path; the logged path has "-" instead. */
export const streamKeyHeader = "x-stream-token"

const file = Schema.String.annotations({ description: "Name of a playlist or media file, without folders" })
const ingestFile = Schema.Struct({ streamKey: Schema.String, file })

const uploadErrors = Schema.Union(
  LiveStreamNotFoundBody,
  LiveFileNameInvalidBody,
  LivePlaylistInvalidBody,
  BodyMalformedBody,
  BodyTooLargeBody,
  RequestTimeoutBody,
  LiveLimitReachedBody
)

/** Encoders upload by PUT or POST. */
const makeUpload = <const Name extends string, Method extends "PUT" | "POST">(name: Name, method: Method) =>
  HttpApiEndpoint.make(method)(name, "/live/ingest/:streamKey/:file")
    .setPath(ingestFile)
    .addSuccess(HttpApiSchema.NoContent)
    .addError(uploadErrors)
    .annotate(OpenApi.Summary, "Upload a file of a live stream")
    .annotate(
      OpenApi.Description,
      "For encoders: playlists and segments in the format of ffmpeg's HLS muxer. The body is the file; an incomplete body has no effect. 404 for a wrong key."
    )

const remove = HttpApiEndpoint.del("remove", "/live/ingest/:streamKey/:file")
  .setPath(ingestFile)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(LiveStreamNotFoundBody)
  .addError(LiveFileNameInvalidBody)
  .annotate(OpenApi.Summary, "Delete a file of a live stream")
  .annotate(OpenApi.Description, "For encoders that delete segments after they leave the playlist. Idempotent.")

export class LiveIngestApi extends HttpApiGroup.make("liveIngest")
  .add(makeUpload("upload", "PUT"))
  .add(makeUpload("uploadByPost", "POST"))
  .add(remove)
  .addError(InternalFailureBody) {}

const directive = queryInteger(0, Number.MAX_SAFE_INTEGER)

const describeFile = (description: string) => ({
  description,
  content: Object.fromEntries(liveContentTypes.map((type) => [type, { schema: { type: "string", format: "binary" } }]))
})

const play = HttpApiEndpoint.get("play", "/live/:liveStreamId/:file")
  .setPath(Schema.Struct({ liveStreamId: LiveStreamId, file }))
  .setUrlParams(
    Schema.Struct({
      _HLS_msn: Schema.optional(
        directive.annotations({ description: "Waits until the playlist contains this media sequence number" })
      ),
      _HLS_part: Schema.optional(
        directive.annotations({ description: "Waits until the playlist contains this part of it" })
      )
    })
  )
  .addSuccess(HttpApiSchema.withEncoding(Schema.String, { kind: "Text", contentType: "application/vnd.apple.mpegurl" }))
  .addSuccess(
    HttpApiSchema.withEncoding(Schema.Uint8ArrayFromSelf, { kind: "Uint8Array", contentType: "video/mp2t" }),
    {
      status: 206
    }
  )
  .addError(LiveStreamNotFoundBody)
  .addError(LiveReloadInvalidBody)
  .addError(LiveReloadTimedOutBody)
  .addError(LiveRangeUnsatisfiableBody)
  .addError(LiveLimitReachedBody)
  .annotate(OpenApi.Summary, "Retrieve a file of a live stream")
  .annotate(OpenApi.Transform, (operation) => {
    const responses = recordOf(operation["responses"])
    return {
      ...operation,
      responses: { ...responses, 200: describeFile("The file"), 206: describeFile("A range of it") }
    }
  })
  .annotate(
    OpenApi.Description,
    "For players: the playlist index.m3u8 and the files that it lists. Supports byte ranges, and blocking reloads if the encoder announces them."
  )

const preflight = HttpApiEndpoint.options("preflight", "/live/:liveStreamId/:file")
  .setPath(Schema.Struct({ liveStreamId: LiveStreamId, file }))
  .addSuccess(HttpApiSchema.NoContent)
  .annotate(OpenApi.Summary, "Answer the CORS preflight of a live stream")
  .annotate(OpenApi.Description, "Pages of any origin may play live streams.")

export class LivePlaybackApi extends HttpApiGroup.make("livePlayback")
  .add(play)
  .add(preflight)
  .addError(InternalFailureBody)
  .annotate(CrossOrigin, {
    methods: ["GET", "HEAD", "OPTIONS"],
    requestHeaders: ["Range", "If-None-Match", "If-Range"],
    responseHeaders: ["Content-Length", "Content-Range", "ETag", "Retry-After", "X-Request-Id"],
    maxAgeSeconds: 86_400
  }) {}

const AgentLiveStream = Schema.Struct({
  liveStreamId: LiveStreamId,
  status: LiveStreamStatus,
  playbackUrl: Schema.String,
  startedAt: Schema.NullOr(Timestamp).annotations({
    description: "Start of the latest broadcast"
  }),
  endedAt: Schema.NullOr(Timestamp)
}).annotations({ identifier: "AgentLiveStream" })

const find = HttpApiEndpoint.get("find", "/api/agents/:id/live-stream")
  .setPath(Schema.Struct({ id: AgentId }))
  .addSuccess(Schema.Struct({ liveStream: Schema.NullOr(AgentLiveStream) }))
  .addError(LiveStreamsUnavailableBody)
  .annotate(OpenApi.Summary, "Retrieve the live stream of an agent")
  .annotate(OpenApi.Description, "Null for agents without a live stream. The stream key is shown once, on creation.")

/** A stream with a new key, which is shown once. */
export const RotatedLiveStreamAnswer = Schema.Struct({
  liveStreamId: LiveStreamId,
  streamKey: Schema.Redacted(Schema.String),
  playbackUrl: Schema.String
}).annotations({ identifier: "RotatedLiveStream" })

const rotateKey = HttpApiEndpoint.post("rotateKey", "/api/agents/:id/live-stream/key")
  .setPath(Schema.Struct({ id: AgentId }))
  .addSuccess(Schema.Struct({ liveStream: Schema.NullOr(RotatedLiveStreamAnswer) }))
  .addError(LiveStreamsUnavailableBody)
  .annotate(OpenApi.Summary, "Replace the stream key")
  .annotate(OpenApi.Description, "Uploads with the old key are then rejected. The new key is shown once.")

export class AgentLiveStreamsApi extends HttpApiGroup.make("agentLiveStreams")
  .add(find)
  .add(rotateKey)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
