import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { TokenUsage } from "@berth/domain/ai/chat/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../vendor/AnswerFold.ts"
import {
  toolCallsFinishReason,
  addToolCallFragment,
  type PartialToolCall,
  dropTruncatedCall
} from "../vendor/PartialToolCall.ts"
import { makeTokenDetails } from "../vendor/TokenDetails.ts"
import { VendorAnswerMalformed, VendorAnswerWithheld } from "../vendor/VendorErrors.ts"
import type { AnthropicAnswerEvent, AnthropicUsage } from "./AnthropicBodies.ts"

interface AnthropicAnswer {
  readonly hasBegun: boolean
  readonly stopReason: string | null
  /** Reason for a withheld answer. */
  readonly explanation: string | null
  readonly usage: AnthropicUsage
  readonly calls: ReadonlyArray<PartialToolCall>
}

export const emptyAnthropicAnswer: AnthropicAnswer = {
  hasBegun: false,
  stopReason: null,
  explanation: null,
  usage: {},
  calls: []
}

/** Counts are cumulative; an omitted count keeps its value. */
const addUsage = (usage: AnthropicUsage, next: AnthropicUsage): AnthropicUsage => ({
  input_tokens: next.input_tokens ?? usage.input_tokens,
  cache_creation_input_tokens: next.cache_creation_input_tokens ?? usage.cache_creation_input_tokens,
  cache_read_input_tokens: next.cache_read_input_tokens ?? usage.cache_read_input_tokens,
  output_tokens: next.output_tokens ?? usage.output_tokens
})

const isCount = (count: number | null | undefined): count is number => count !== null && count !== undefined

const usageOf = (usage: AnthropicUsage): TokenUsage | null => {
  const { input_tokens, output_tokens } = usage
  if (!isCount(input_tokens) || !isCount(output_tokens)) return null
  const promptTokens = input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0)
  return {
    promptTokens,
    completionTokens: output_tokens,
    totalTokens: promptTokens + output_tokens,
    ...makeTokenDetails(usage.cache_read_input_tokens, undefined)
  }
}

const isEmptyObject = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0

const inputIn = (input: unknown): string =>
  input === undefined || input === null || isEmptyObject(input) ? "" : JSON.stringify(input)

export const addAnthropicEvent = (
  answer: AnthropicAnswer,
  event: AnthropicAnswerEvent
): readonly [AnthropicAnswer, string] => {
  switch (event.type) {
    case "message_start":
      return [{ ...answer, hasBegun: true, usage: addUsage(answer.usage, event.message.usage ?? {}) }, ""]
    case "content_block_start": {
      const { content_block: block, index } = event
      return "id" in block
        ? [
            {
              ...answer,
              calls: addToolCallFragment(answer.calls, {
                index,
                id: block.id,
                name: block.name,
                arguments: inputIn(block.input)
              })
            },
            ""
          ]
        : [answer, ""]
    }
    case "content_block_delta": {
      const { delta, index } = event
      if ("text" in delta) return [answer, delta.text]
      // Blocks of other types can contain JSON deltas too.
      return "partial_json" in delta && answer.calls.some((call) => call.index === (index ?? null))
        ? [{ ...answer, calls: addToolCallFragment(answer.calls, { index, arguments: delta.partial_json }) }, ""]
        : [answer, ""]
    }
    case "message_delta":
      return [
        {
          ...answer,
          stopReason: event.delta.stop_reason ?? answer.stopReason,
          explanation: event.delta.stop_details?.explanation ?? answer.explanation,
          usage: addUsage(answer.usage, event.usage ?? {})
        },
        ""
      ]
  }
}

/** Maps a stop reason to OpenAI's finish reason, which has no equivalent of `pause_turn`. */
const finishReasonOf = (stopReason: string): string => {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "tool_use":
      return toolCallsFinishReason
    default:
      return "stop"
  }
}

/** Fails for a withheld answer, and without a start or a stop reason. */
export const finishAnthropicAnswer = (
  answer: AnthropicAnswer
): Either.Either<ModelEvent<ProviderEnding>, VendorAnswerMalformed | VendorAnswerWithheld> => {
  if (!answer.hasBegun) return Either.left(new VendorAnswerMalformed({ reason: "answer without message_start" }))
  if (answer.stopReason === null) return Either.left(new VendorAnswerMalformed({ reason: "truncated answer" }))
  return answer.stopReason === "refusal"
    ? Either.left(new VendorAnswerWithheld({ reason: answer.explanation ?? answer.stopReason }))
    : Either.right({ type: "done", usage: usageOf(answer.usage), finishReason: finishReasonOf(answer.stopReason) })
}

// The vendor ends the block of a call even if the answer is truncated within it.
const readAnthropicToolCalls = ({ calls, stopReason }: AnthropicAnswer): ReadonlyArray<PartialToolCall> =>
  stopReason !== null && finishReasonOf(stopReason) === "length" ? dropTruncatedCall(calls) : calls

export const readAnthropicAnswer = foldAnswer({
  initial: emptyAnthropicAnswer,
  add: addAnthropicEvent,
  end: finishAnthropicAnswer,
  calls: readAnthropicToolCalls
})
