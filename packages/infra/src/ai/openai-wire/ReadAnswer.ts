import type { ChatChunk, TokenUsage } from "@berth/domain/ai/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../wire/FoldAnswer.ts"
import { callsFinishReason, gatherCall, type GatheredCall, withoutCutCall } from "../wire/ToolCalls.ts"
import { AnswerIsNonsense } from "../wire/WireFailure.ts"
import { encryptedIn, signatureOf } from "./ReasoningDetails.ts"
import type { CompletionChunk, ReasoningDetail, WireToolCall, WireUsage } from "./WireBodies.ts"

interface Answer {
  readonly hasChoice: boolean
  readonly finishReason: string | null
  readonly usage: TokenUsage | null
  readonly calls: ReadonlyArray<GatheredCall>
  readonly reasoning: ReadonlyArray<ReasoningDetail>
}

export const nothing: Answer = { hasChoice: false, finishReason: null, usage: null, calls: [], reasoning: [] }

const usageOf = (usage: WireUsage): TokenUsage => ({
  promptTokens: usage.prompt_tokens,
  completionTokens: usage.completion_tokens,
  totalTokens: usage.total_tokens ?? usage.prompt_tokens + usage.completion_tokens
})

const argumentsIn = (given: unknown): string => {
  if (given === undefined || given === null) return ""
  return typeof given === "string" ? given : JSON.stringify(given)
}

const addCall = (calls: ReadonlyArray<GatheredCall>, { function: called, id, index }: WireToolCall) =>
  gatherCall(calls, { index, id, name: called?.name, arguments: argumentsIn(called?.arguments) })

const isEmpty = (details: ReadonlyArray<unknown> | null | undefined) => (details?.length ?? 0) === 0

/** An answer after one more chunk, and the text in that. */
export const addChunk = (answer: Answer, chunk: CompletionChunk): readonly [Answer, string] => {
  const [choice] = chunk.choices
  const usage = chunk.usage ?? chunk.x_groq?.usage
  return [
    {
      hasChoice: answer.hasChoice || choice !== undefined,
      finishReason: choice?.finish_reason ?? answer.finishReason,
      usage: usage === undefined || usage === null ? answer.usage : usageOf(usage),
      calls: choice?.delta?.tool_calls?.reduce(addCall, answer.calls) ?? answer.calls,
      reasoning: isEmpty(choice?.delta?.reasoning_details)
        ? answer.reasoning
        : [...answer.reasoning, ...encryptedIn(choice?.delta?.reasoning_details ?? [])]
    },
    choice?.delta?.content ?? ""
  ]
}

/** The calls of an answer, the first with what the model thought before them. */
export const callsIn = ({ calls, finishReason, reasoning }: Answer): ReadonlyArray<GatheredCall> => {
  const whole = finishReason === "length" ? withoutCutCall(calls) : calls
  return whole.map((call, index) => (index === 0 ? { ...call, signature: signatureOf(reasoning) } : call))
}

/** The end of an answer; one that holds no choice, or was cut before the model said that it is done, has none. */
export const endAnswer = (answer: Answer): Either.Either<ChatChunk, AnswerIsNonsense> => {
  if (!answer.hasChoice) return Either.left(new AnswerIsNonsense({ reason: "an answer without a choice" }))
  if (answer.finishReason === null) return Either.left(new AnswerIsNonsense({ reason: "an answer that was cut short" }))
  // OpenRouter's word where the model made nothing sensible, such as a call that cannot be read.
  if (answer.finishReason === "error") return Either.left(new AnswerIsNonsense({ reason: "an answer that went wrong" }))
  // Some servers end an answer with calls like any other.
  const finishReason =
    answer.finishReason === "stop" && answer.calls.length > 0 ? callsFinishReason : answer.finishReason
  return Either.right({ type: "end", usage: answer.usage, finishReason })
}

/** What is heard on the wire in the words of the AI layer. */
export const readAnswer = foldAnswer({ nothing, add: addChunk, end: endAnswer, calls: callsIn })
