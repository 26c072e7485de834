import type { CompletionUsage, OpenAiCompletion } from "@berth/api/ai/OpenAiApi"
import type { OpenAiFrames } from "@berth/api/ai/OpenAiFrames"
import type { ChatCompletion, ChatEnding } from "@berth/domain/ai/calls/ChatRequest"
import type { ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { catchReader, type ChunkReader, mapReader } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { HttpApiSchema } from "@effect/platform"
import { Effect, Schema } from "effect"
import { withTraceId } from "../http/TraceId.ts"

const callOf = ({ arguments: text, id, name }: ToolCall) => ({
  id,
  type: "function" as const,
  function: { name, arguments: text }
})

const usageOf = ({ costUsd, usage }: ChatEnding): CompletionUsage => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.totalTokens,
  ...(usage.cachedTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: usage.cachedTokens } }),
  ...(usage.reasoningTokens === undefined
    ? {}
    : { completion_tokens_details: { reasoning_tokens: usage.reasoningTokens } }),
  cost: costUsd
})

const finishReasonOf = ({ finishReason }: Pick<ChatEnding, "finishReason">) => finishReason ?? "stop"

/** Makes the response body without usage. */
export const makeUncountedCompletion = (
  answer: Pick<ChatCompletion, "id" | "model" | "text" | "toolCalls" | "finishReason">,
  created: number
): OpenAiCompletion => ({
  id: answer.id,
  object: "chat.completion",
  created,
  model: answer.model,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: answer.text === "" && answer.toolCalls.length > 0 ? null : answer.text,
        refusal: null,
        ...(answer.toolCalls.length === 0 ? {} : { tool_calls: answer.toolCalls.map(callOf) })
      },
      logprobs: null,
      finish_reason: finishReasonOf(answer)
    }
  ]
})

/** Makes the response body of POST /v1/chat/completions. */
export const makeCompletion = (
  answer: Pick<ChatCompletion, "id" | "model" | "text" | "toolCalls"> & ChatEnding,
  created: number
): OpenAiCompletion => Object.assign(makeUncountedCompletion(answer, created), { usage: usageOf(answer) })

/**
 * Makes the frames of an answer; the first frame has the role. `failureBody` is the error of an answer that fails
 * midway.
 */
export const makeCompletionFrames = <E, I extends object>(
  read: ChunkReader<ModelEvent, E>,
  frames: OpenAiFrames,
  failureBody: Schema.Schema<E, I>
): ChunkReader<string> => {
  const encodeFailure = Schema.encodeSync(failureBody)
  const failureStatus = HttpApiSchema.getStatusError(failureBody)
  let calls = 0
  const frameOf = (event: ModelEvent): string => {
    switch (event.type) {
      case "delta":
        return frames.delta({ content: event.text })
      case "tool-call": {
        const index = calls
        calls += 1
        return frames.delta({ tool_calls: [{ index, ...callOf(event.call) }] })
      }
      case "done":
        return frames.end(finishReasonOf(event), usageOf(event))
    }
  }
  let opening = frames.delta({ role: "assistant", content: "" })
  const withOpening = (events: ReadonlyArray<ModelEvent>) => {
    const all = [opening, ...events.map(frameOf)]
    opening = ""
    return all
  }
  return catchReader(mapReader(read, withOpening), (failure) =>
    Effect.map(withTraceId(encodeFailure(failure)), (body) => frames.error(failureStatus, body))
  )
}
