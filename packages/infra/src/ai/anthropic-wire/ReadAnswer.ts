import type { ChatChunk, TokenUsage } from "@berth/domain/ai/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../wire/FoldAnswer.ts"
import { callsFinishReason, gatherCall, type GatheredCall, withoutCutCall } from "../wire/ToolCalls.ts"
import { AnswerIsNonsense, AnswerIsWithheld } from "../wire/WireFailure.ts"
import type { AnswerEvent, WireUsage } from "./WireBodies.ts"

interface Answer {
  readonly hasBegun: boolean
  readonly stopReason: string | null
  /** Why it was withheld, where it was and that is said. */
  readonly explanation: string | null
  readonly usage: WireUsage
  readonly calls: ReadonlyArray<GatheredCall>
}

export const nothing: Answer = { hasBegun: false, stopReason: null, explanation: null, usage: {}, calls: [] }

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

const isEmptyObject = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0

const inputIn = (input: unknown): string =>
  input === undefined || input === null || isEmptyObject(input) ? "" : JSON.stringify(input)

/** An answer after one more event, and the text in that. */
export const addEvent = (answer: Answer, event: AnswerEvent): readonly [Answer, string] => {
  switch (event.type) {
    case "message_start":
      return [{ ...answer, hasBegun: true, usage: addUsage(answer.usage, event.message.usage ?? {}) }, ""]
    case "content_block_start": {
      const { content_block: block, index } = event
      return "id" in block
        ? [
            {
              ...answer,
              calls: gatherCall(answer.calls, {
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
      // Blocks of other types may be written in JSON too.
      return "partial_json" in delta && answer.calls.some((call) => call.index === (index ?? null))
        ? [{ ...answer, calls: gatherCall(answer.calls, { index, arguments: delta.partial_json }) }, ""]
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

/** The vendor's reasons in the words of OpenAI's protocol, which this service speaks too. */
const finishReasonOf = (stopReason: string): string => {
  switch (stopReason) {
    case "end_turn":
    case "stop_sequence":
      return "stop"
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "tool_use":
      return callsFinishReason
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

/** The calls of an answer; a block may be over though its answer was cut in it. */
export const callsIn = ({ calls, stopReason }: Answer): ReadonlyArray<GatheredCall> =>
  stopReason !== null && finishReasonOf(stopReason) === "length" ? withoutCutCall(calls) : calls

/** What is heard on the wire in the words of the AI layer. */
export const readAnswer = foldAnswer({ nothing, add: addEvent, end: endAnswer, calls: callsIn })
