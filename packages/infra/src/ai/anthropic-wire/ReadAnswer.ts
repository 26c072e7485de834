import type { ChatChunk, TokenUsage } from "@berth/domain/ai/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../wire/FoldAnswer.ts"
import { AnswerIsNonsense, AnswerIsWithheld } from "../wire/WireFailure.ts"
import type { AnswerEvent, WireUsage } from "./WireBodies.ts"

interface Answer {
  readonly hasBegun: boolean
  readonly stopReason: string | null
  /** Why it was withheld, where it was and that is said. */
  readonly explanation: string | null
  readonly usage: WireUsage
}

export const nothing: Answer = { hasBegun: false, stopReason: null, explanation: null, usage: {} }

/** Counts grow with an answer; one that is not told again stands. */
const addUsage = (usage: WireUsage, told: WireUsage): WireUsage => ({
  input_tokens: told.input_tokens ?? usage.input_tokens,
  cache_creation_input_tokens: told.cache_creation_input_tokens ?? usage.cache_creation_input_tokens,
  cache_read_input_tokens: told.cache_read_input_tokens ?? usage.cache_read_input_tokens,
  output_tokens: told.output_tokens ?? usage.output_tokens
})

const isCount = (count: number | null | undefined): count is number => count !== null && count !== undefined

const usageOf = (usage: WireUsage): TokenUsage | null => {
  const { input_tokens, output_tokens } = usage
  if (!isCount(input_tokens) || !isCount(output_tokens)) return null
  const promptTokens = input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0)
  return { promptTokens, completionTokens: output_tokens, totalTokens: promptTokens + output_tokens }
}

/** An answer after one more event, and the text in that. */
export const addEvent = (answer: Answer, event: AnswerEvent): readonly [Answer, string] => {
  switch (event.type) {
    case "message_start":
      return [{ ...answer, hasBegun: true, usage: addUsage(answer.usage, event.message.usage ?? {}) }, ""]
    case "content_block_delta":
      return [answer, "text" in event.delta ? event.delta.text : ""]
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

/** The vendor's reasons in the words of OpenAI's protocol, which this service speaks too. */
const finishReasonOf = (stopReason: string): string => {
  switch (stopReason) {
    case "end_turn":
    case "stop_sequence":
      return "stop"
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    default:
      return stopReason
  }
}

/** The end of an answer; one that never began, was cut before the model said that it is done, or was withheld has none. */
export const endAnswer = (answer: Answer): Either.Either<ChatChunk, AnswerIsNonsense | AnswerIsWithheld> => {
  if (!answer.hasBegun) return Either.left(new AnswerIsNonsense({ reason: "an answer without a beginning" }))
  if (answer.stopReason === null) return Either.left(new AnswerIsNonsense({ reason: "an answer that was cut short" }))
  return answer.stopReason === "refusal"
    ? Either.left(new AnswerIsWithheld({ reason: answer.explanation ?? answer.stopReason }))
    : Either.right({ type: "end", usage: usageOf(answer.usage), finishReason: finishReasonOf(answer.stopReason) })
}

/** What is heard on the wire in the words of the AI layer. */
export const readAnswer = foldAnswer({ nothing, add: addEvent, end: endAnswer })
