import type { OpenAiFrames, StreamHead } from "@berth/api/ai/OpenAiFrames"
import type { ChunkReader } from "@berth/domain/ai/streams/ChunkReader"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { type FrameSource, respondFrames } from "../http/SseResponse.ts"
import { StreamStore } from "../http/StreamStore.ts"
import type { CompletionFormat } from "./CompletionFormat.ts"

/** Forwards frames, and stores those of a complete answer before its end is sent. */
const storeWhole = (
  read: ChunkReader<string>,
  isWhole: () => boolean,
  store: (events: string) => Effect.Effect<void>
): ChunkReader<string> => {
  const texts: Array<string> = []
  let isStored = false
  return Effect.tap(read, (written) => {
    if (written === null || isStored) return Effect.void
    texts.push(...written)
    if (!isWhole()) return Effect.void
    isStored = true
    return store(texts.join(""))
  })
}

/** Streams an answer in one of OpenAI's protocols. A failed answer is not stored for repetitions. */
export const respondCompletionFrames = (
  format: CompletionFormat,
  head: Omit<StreamHead, "withUsage">,
  open: (frames: OpenAiFrames) => FrameSource,
  headers: Readonly<Record<string, string>>
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(StreamStore, (stored) => {
    const { finish, frames } = format.makeFrames(head)
    if (Option.isNone(stored)) return respondFrames(Effect.map(open(frames), finish), headers)
    let isEnded = false
    const watched: OpenAiFrames = {
      ...frames,
      end: (finishReason, usage) => {
        isEnded = true
        return frames.end(finishReason, usage)
      }
    }
    const store = (events: string) =>
      stored.value(HttpServerResponse.text(events, { headers, contentType: "text/event-stream" }))
    const body = Effect.map(open(watched), (read) => storeWhole(finish(read), () => isEnded, store))
    return respondFrames(body, headers)
  })
