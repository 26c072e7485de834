import type { OpenAiCompletion, OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { makeOpenAiFrames, type OpenAiFrames, type StreamHead } from "@berth/api/ai/OpenAiFrames"
import type { ChunkReader } from "@berth/domain/ai/streams/ChunkReader"
import { Effect } from "effect"

/** Protocol of an answer. */
export interface CompletionFormat {
  readonly makeFrames: (head: Omit<StreamHead, "withUsage">) => {
    readonly frames: OpenAiFrames
    /** Wraps the frames of a complete answer. */
    readonly finish: (read: ChunkReader<string>) => ChunkReader<string>
  }
  readonly makeBody: (completion: OpenAiCompletion) => Effect.Effect<object>
}

/** Chat completions. `withUsage`: the last chunk of a stream contains the usage. */
export const makeChatFormat = (payload: Pick<OpenAiCompletionPayload, "stream_options">): CompletionFormat => ({
  makeFrames: (head) => ({
    frames: makeOpenAiFrames({ ...head, withUsage: payload.stream_options?.include_usage === true }),
    finish: (read) => read
  }),
  makeBody: Effect.succeed
})
