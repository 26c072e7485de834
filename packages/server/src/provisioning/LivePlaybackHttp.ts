import { CrossOrigin } from "@berth/api/http/CrossOrigin"
import { LivePlaybackApi } from "@berth/api/provisioning/live-streams/LiveStreamsApi"
import { WebApi } from "@berth/api/WebApi"
import { findLiveContentType, type LiveFileName } from "@berth/domain/provisioning/live-streams/LiveFile"
import { LivePlayback } from "@berth/domain/provisioning/live-streams/LivePlayback"
import type { ReloadTarget } from "@berth/domain/provisioning/live-streams/LivePlaylist"
import { LiveRangeUnsatisfiable, LiveReloadInvalid } from "@berth/domain/provisioning/live-streams/LiveStreamErrors"
import type { LiveFile } from "@berth/domain/provisioning/live-streams/LiveStreamRepository"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Context, type DateTime, Effect, Either, Option } from "effect"
import { group } from "../http/ApiGroup.ts"
import { makePreflightResponse } from "../http/CrossOriginHeaders.ts"
import { isKnownByClient } from "../http/EntityTags.ts"
import { addResponseHeaders, addRetryAfter } from "../http/ResponseHeaders.ts"
import { decideByteRange } from "./ByteRange.ts"

const crossOrigin = Context.get(LivePlaybackApi.annotations, CrossOrigin)

// A playlist changes with every segment. A restarted encoder may reuse the name of a segment.
const playlistAge = 1
const segmentAge = 60

const tagOf = (uploadedAt: DateTime.Utc, length: number) => `"${uploadedAt.epochMillis.toString(36)}-${length}"`

interface PlayedFile extends LiveFile {
  readonly name: LiveFileName
  readonly isPlaylist: boolean
}

interface FileResponse {
  readonly response: HttpServerResponse.HttpServerResponse
  readonly bytes: number
}

/** Makes the response with a file, or with the requested part. */
const makeFileResponse = (
  { content, isPlaylist, name, uploadedAt }: PlayedFile,
  { headers: requestHeaders, method }: Pick<HttpServerRequest.HttpServerRequest, "headers" | "method">
): Either.Either<FileResponse, LiveRangeUnsatisfiable> => {
  const etag = tagOf(uploadedAt, content.length)
  const headers = {
    etag,
    "accept-ranges": "bytes",
    "cache-control": `public, max-age=${isPlaylist ? playlistAge : segmentAge}`
  }
  if (isKnownByClient(requestHeaders["if-none-match"], etag))
    return Either.right({ response: HttpServerResponse.empty({ status: 304, headers }), bytes: 0 })
  const contentType = findLiveContentType(name)
  const isSameFile = (requestHeaders["if-range"] ?? etag) === etag
  const range = isSameFile ? decideByteRange(requestHeaders["range"], content.length) : Option.none()
  const send = (bytes: Uint8Array, status: number, more: Record<string, string>) =>
    Either.right({
      response: HttpServerResponse.uint8Array(bytes, { status, contentType, headers: { ...headers, ...more } }),
      bytes: method === "HEAD" ? 0 : bytes.length
    })
  if (Option.isNone(range)) return send(content, 200, {})
  if (range.value === "unsatisfiable") return Either.left(new LiveRangeUnsatisfiable({ length: content.length }))
  const { first, last } = range.value
  return send(content.subarray(first, last + 1), 206, { "content-range": `bytes ${first}-${last}/${content.length}` })
}

const readTarget = (directives: {
  readonly _HLS_msn?: number | undefined
  readonly _HLS_part?: number | undefined
}): Either.Either<Option.Option<ReloadTarget>, LiveReloadInvalid> => {
  const { _HLS_msn: segment, _HLS_part: part } = directives
  if (segment !== undefined) return Either.right(Option.some({ segment, part: Option.fromNullable(part) }))
  return part === undefined
    ? Either.right(Option.none())
    : Either.left(new LiveReloadInvalid({ reason: "_HLS_part needs _HLS_msn" }))
}

export const layer = group(WebApi, "livePlayback", (handlers) =>
  Effect.gen(function* () {
    const playback = yield* LivePlayback
    return handlers
      .handleRaw("play", ({ path, request, urlParams }) =>
        Effect.gen(function* () {
          const target = yield* readTarget(urlParams)
          const file = yield* playback.play(path.liveStreamId, path.file, target)
          const { bytes, response } = yield* makeFileResponse(file, request)
          yield* file.takeBytes(bytes)
          return response
        }).pipe(
          Effect.tapErrorTag("LiveLimitReached", addRetryAfter),
          Effect.tapErrorTag("LiveRangeUnsatisfiable", ({ length }) =>
            addResponseHeaders({ "content-range": `bytes */${length}` })
          )
        )
      )
      .handle("preflight", () => Effect.succeed(makePreflightResponse({ crossOrigin })))
  })
)
