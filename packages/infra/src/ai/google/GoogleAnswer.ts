import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { TokenUsage } from "@berth/domain/ai/chat/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../vendor/AnswerFold.ts"
import { toolCallsFinishReason, type PartialToolCall } from "../vendor/PartialToolCall.ts"
import { makeTokenDetails } from "../vendor/TokenDetails.ts"
import { VendorAnswerMalformed, VendorAnswerWithheld } from "../vendor/VendorErrors.ts"
import type { GoogleAnswerChunk, GoogleUsage } from "./GoogleBodies.ts"

interface GoogleAnswer {
  readonly hasCandidate: boolean
  readonly finishReason: string | null
  readonly blockReason: string | null
  readonly usage: TokenUsage | null
  readonly calls: ReadonlyArray<PartialToolCall>
}

export const emptyGoogleAnswer: GoogleAnswer = {
  hasCandidate: false,
  finishReason: null,
  blockReason: null,
  usage: null,
  calls: []
}

/** Thinking tokens are billed as completion tokens. */
const usageOf = (usage: GoogleUsage): TokenUsage => {
  const promptTokens = (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0)
  const completionTokens = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)
  return {
    promptTokens,
    completionTokens,
    totalTokens: usage.totalTokenCount ?? promptTokens + completionTokens,
    ...makeTokenDetails(usage.cachedContentTokenCount, usage.thoughtsTokenCount)
  }
}

const finishReasonIn = (chunk: GoogleAnswerChunk) => chunk.candidates?.[0]?.finishReason ?? null
const blockReasonIn = (chunk: GoogleAnswerChunk) => chunk.promptFeedback?.blockReason ?? null

export const isLastGoogleChunk = (chunk: GoogleAnswerChunk): boolean =>
  finishReasonIn(chunk) !== null || blockReasonIn(chunk) !== null

type Part = NonNullable<NonNullable<NonNullable<GoogleAnswerChunk["candidates"]>[number]["content"]>["parts"]>[number]

const callIn = ({ functionCall: call, thoughtSignature }: Part): ReadonlyArray<PartialToolCall> =>
  call === undefined || call === null
    ? []
    : [
        {
          index: null,
          id: call.id ?? "",
          name: call.name,
          arguments: JSON.stringify(call.args ?? {}),
          signature: thoughtSignature ?? null
        }
      ]

/** Returns the text without thoughts. */
export const addGoogleChunk = (answer: GoogleAnswer, chunk: GoogleAnswerChunk): readonly [GoogleAnswer, string] => {
  const candidate = chunk.candidates?.[0]
  const parts = candidate?.content?.parts ?? []
  return [
    {
      hasCandidate: answer.hasCandidate || candidate !== undefined,
      finishReason: finishReasonIn(chunk) ?? answer.finishReason,
      blockReason: blockReasonIn(chunk) ?? answer.blockReason,
      usage: chunk.usageMetadata ? usageOf(chunk.usageMetadata) : answer.usage,
      calls: [...answer.calls, ...parts.flatMap(callIn)]
    },
    parts.map(({ text, thought }) => (thought === true ? "" : (text ?? ""))).join("")
  ]
}

/** Fails for a withheld answer, and without a candidate or a finish reason. */
export const finishGoogleAnswer = (
  answer: GoogleAnswer
): Either.Either<ModelEvent<ProviderEnding>, VendorAnswerMalformed | VendorAnswerWithheld> => {
  if (answer.blockReason !== null) return Either.left(new VendorAnswerWithheld({ reason: answer.blockReason }))
  if (!answer.hasCandidate) return Either.left(new VendorAnswerMalformed({ reason: "answer without a candidate" }))
  switch (answer.finishReason) {
    case null:
      return Either.left(new VendorAnswerMalformed({ reason: "truncated answer" }))
    case "STOP":
    // Sent by compatible servers, not by Google.
    case "FUNCTION_CALL":
      return Either.right({
        type: "done",
        usage: answer.usage,
        finishReason: answer.calls.length === 0 ? "stop" : toolCallsFinishReason
      })
    case "MAX_TOKENS":
      return Either.right({ type: "done", usage: answer.usage, finishReason: "length" })
    case "MALFORMED_FUNCTION_CALL":
    case "UNEXPECTED_TOOL_CALL":
      return Either.left(new VendorAnswerMalformed({ reason: "malformed tool call" }))
    // Other reasons, such as SAFETY and RECITATION, withhold the answer.
    default:
      return Either.left(new VendorAnswerWithheld({ reason: answer.finishReason }))
  }
}

export const readGoogleAnswer = foldAnswer({
  initial: emptyGoogleAnswer,
  add: addGoogleChunk,
  end: finishGoogleAnswer,
  calls: ({ calls }) => calls
})
