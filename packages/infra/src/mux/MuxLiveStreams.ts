import { LiveStreamId } from "@berth/domain/provisioning/live-streams/LiveStream"
import { LiveStreamsUnavailable } from "@berth/domain/provisioning/live-streams/LiveStreamErrors"
import { LiveStreams } from "@berth/domain/provisioning/live-streams/LiveStreams"
import { Effect, Layer, Option, Stream } from "effect"
import type { ApiCallFailed } from "../net/ApiCalls.ts"
import { makeMuxClient, type MuxAccess } from "./MuxClient.ts"

const toUnavailable = ({ reason, status }: ApiCallFailed) =>
  new LiveStreamsUnavailable({ reason: status === null ? reason : `status ${status}, ${reason}` })

const isMissing = ({ status }: ApiCallFailed) => status === 404

/** Live streams at Mux, which receives them by RTMP and plays them by HLS. */
export const layer = (access: MuxAccess) =>
  Layer.effect(
    LiveStreams,
    Effect.map(makeMuxClient(access), (mux) =>
      LiveStreams.of({
        create: Effect.fn("LiveStreams.create")(function* (reference: string) {
          const { id, playback_ids, stream_key } = yield* Effect.mapError(mux.create(reference), toUnavailable)
          const playback = playback_ids.find(({ policy }) => policy === "public")
          if (playback === undefined)
            return yield* new LiveStreamsUnavailable({ reason: "the stream has no public playback id" })
          return {
            id: LiveStreamId.make(id),
            streamKey: stream_key,
            playbackUrl: `https://stream.mux.com/${playback.id}.m3u8`,
            keyHash: Option.none()
          }
        }),
        rotateKey: Effect.fn("LiveStreams.rotateKey")((id: LiveStreamId) =>
          mux.resetKey(id).pipe(
            Effect.map(({ stream_key }) => Option.some({ streamKey: stream_key, keyHash: Option.none() })),
            Effect.catchIf(isMissing, () => Effect.succeedNone),
            Effect.mapError(toUnavailable)
          )
        ),
        end: Effect.fn("LiveStreams.end")((id: LiveStreamId) =>
          mux.remove(id).pipe(
            Effect.catchIf(isMissing, () => Effect.void),
            Effect.mapError(toUnavailable)
          )
        ),
        listActive: Stream.paginateEffect(1, (page) =>
          Effect.map(mux.listActive(page), ({ ids, isLast }) => [
            ids.map((id) => LiveStreamId.make(id)),
            isLast ? Option.none<number>() : Option.some(page + 1)
          ])
        ).pipe(
          Stream.runCollect,
          Effect.map((pages) => Option.some(new Set([...pages].flat()))),
          Effect.mapError(toUnavailable),
          Effect.withSpan("LiveStreams.listActive")
        ),
        status: Effect.fn("LiveStreams.status")((id: LiveStreamId) =>
          mux.find(id).pipe(
            Effect.map(({ status }) => (status === "active" ? ("active" as const) : ("idle" as const))),
            Effect.catchIf(isMissing, () => Effect.succeed("idle" as const)),
            Effect.mapError(toUnavailable)
          )
        )
      })
    )
  )
