import { DateTime, Effect, Layer, Option } from "effect"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { decideLiveStreamStatus, LiveStreamId } from "./LiveStream.ts"
import { LiveStreamRepository } from "./LiveStreamRepository.ts"
import { LiveStreams } from "./LiveStreams.ts"

/** Live streams of the built-in HLS origin, served by every web API process. */
export const layer = ({ appUrl }: { readonly appUrl: URL }) =>
  Layer.effect(
    LiveStreams,
    Effect.gen(function* () {
      const repository = yield* LiveStreamRepository
      const tokens = yield* Tokens
      const digests = yield* Digests
      const makeKey = Effect.map(tokens.make, (streamKey) => ({
        streamKey,
        keyHash: Option.some(hashSecret(digests, streamKey))
      }))
      return LiveStreams.of({
        create: Effect.fn("LiveStreams.create")(function* () {
          const id = LiveStreamId.make(`lst_${hashSecret(digests, yield* tokens.make).slice(0, 32)}`)
          return { id, playbackUrl: `${appUrl.origin}/live/${id}/index.m3u8`, ...(yield* makeKey) }
        }),
        rotateKey: Effect.fn("LiveStreams.rotateKey")(() => Effect.asSome(makeKey)),
        // The row is the stream, so nothing else must end.
        end: () => Effect.void,
        listActive: Effect.succeedNone,
        status: Effect.fn("LiveStreams.status")(function* (id: LiveStreamId) {
          const now = yield* DateTime.now
          return Option.match(yield* repository.find(id), {
            onNone: () => "idle" as const,
            onSome: (stream) => decideLiveStreamStatus(stream, now)
          })
        })
      })
    })
  )
