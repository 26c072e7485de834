import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { TokenUsage } from "@berth/domain/ai/chat/ModelChat"
import { Either, Predicate } from "effect"
import { foldAnswer } from "../vendor/AnswerFold.ts"
import {
  toolCallsFinishReason,
  addToolCallFragment,
  type PartialToolCall,
  dropTruncatedCall
} from "../vendor/PartialToolCall.ts"
import { makeTokenDetails } from "../vendor/TokenDetails.ts"
import { VendorAnswerMalformed } from "../vendor/VendorErrors.ts"
import { readEncryptedReasoning, encodeReasoningSignature } from "./OpenRouterReasoning.ts"
import type { OpenAiAnswerChunk, ReasoningDetail, OpenAiToolCall, OpenAiUsage } from "./OpenAiBodies.ts"

interface OpenAiAnswer {
  readonly hasChoice: boolean
  readonly finishReason: string | null
  readonly usage: TokenUsage | null
  readonly calls: ReadonlyArray<PartialToolCall>
  readonly reasoning: ReadonlyArray<ReasoningDetail>
}

export const emptyOpenAiAnswer: OpenAiAnswer = {
  hasChoice: false,
  finishReason: null,
  usage: null,
  calls: [],
  reasoning: []
}

const readMember = (details: unknown, name: string) => (Predicate.isRecord(details) ? details[name] : undefined)

const usageOf = (usage: OpenAiUsage): TokenUsage => ({
  promptTokens: usage.prompt_tokens,
  completionTokens: usage.completion_tokens,
  totalTokens: usage.total_tokens ?? usage.prompt_tokens + usage.completion_tokens,
  ...makeTokenDetails(
    readMember(usage.prompt_tokens_details, "cached_tokens"),
    readMember(usage.completion_tokens_details, "reasoning_tokens")
  )
})

const argumentsIn = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

const addCall = (calls: ReadonlyArray<PartialToolCall>, { function: called, id, index }: OpenAiToolCall) =>
  addToolCallFragment(calls, { index, id, name: called?.name, arguments: argumentsIn(called?.arguments) })

const isEmpty = (details: ReadonlyArray<unknown> | null | undefined) => (details?.length ?? 0) === 0

export const addOpenAiChunk = (answer: OpenAiAnswer, chunk: OpenAiAnswerChunk): readonly [OpenAiAnswer, string] => {
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
        : [...answer.reasoning, ...readEncryptedReasoning(choice?.delta?.reasoning_details ?? [])]
    },
    `${choice?.delta?.content ?? ""}${choice?.delta?.refusal ?? ""}`
  ]
}

/** The first call contains the reasoning before all calls. */
const readOpenAiToolCalls = ({ calls, finishReason, reasoning }: OpenAiAnswer): ReadonlyArray<PartialToolCall> => {
  const whole = finishReason === "length" ? dropTruncatedCall(calls) : calls
  return whole.map((call, index) => (index === 0 ? { ...call, signature: encodeReasoningSignature(reasoning) } : call))
}

const cutReasons: ReadonlySet<string> = new Set(["length", "content_filter"])

/** Fails without a choice or a finish reason. */
export const finishOpenAiAnswer = (
  answer: OpenAiAnswer
): Either.Either<ModelEvent<ProviderEnding>, VendorAnswerMalformed> => {
  if (!answer.hasChoice) return Either.left(new VendorAnswerMalformed({ reason: "answer without a choice" }))
  if (answer.finishReason === null) return Either.left(new VendorAnswerMalformed({ reason: "truncated answer" }))
  // OpenRouter's finish reason for malformed model output.
  if (answer.finishReason === "error")
    return Either.left(new VendorAnswerMalformed({ reason: "malformed model output" }))
  // Other servers send further reasons, and some end tool calls with `stop`.
  const known = cutReasons.has(answer.finishReason) ? answer.finishReason : "stop"
  const finishReason = known === "stop" && answer.calls.length > 0 ? toolCallsFinishReason : known
  return Either.right({ type: "done", usage: answer.usage, finishReason })
}

export const readOpenAiAnswer = foldAnswer({
  initial: emptyOpenAiAnswer,
  add: addOpenAiChunk,
  end: finishOpenAiAnswer,
  calls: readOpenAiToolCalls
})
