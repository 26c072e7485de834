import type { ChatChunk, TokenUsage } from "@berth/domain/ai/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../wire/FoldAnswer.ts"
import { callsFinishReason, type GatheredCall } from "../wire/ToolCalls.ts"
import { AnswerIsNonsense, AnswerIsWithheld } from "../wire/WireFailure.ts"
import type { AnswerChunk, WireUsage } from "./WireBodies.ts"

interface Answer {
  readonly hasCandidate: boolean
  readonly finishReason: string | null
  /** Why there is no answer to the prompt. */
  readonly blockReason: string | null
  readonly usage: TokenUsage | null
  readonly calls: ReadonlyArray<GatheredCall>
}

export const nothing: Answer = { hasCandidate: false, finishReason: null, blockReason: null, usage: null, calls: [] }

/** What a model thinks is charged like what it says. */
const usageOf = (usage: WireUsage): TokenUsage => {
  const promptTokens = (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0)
  const completionTokens = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)
  return { promptTokens, completionTokens, totalTokens: usage.totalTokenCount ?? promptTokens + completionTokens }
}

const finishReasonIn = (chunk: AnswerChunk) => chunk.candidates?.[0]?.finishReason ?? null
const blockReasonIn = (chunk: AnswerChunk) => chunk.promptFeedback?.blockReason ?? null

/** Whether nothing of an answer comes after this. */
export const isLast = (chunk: AnswerChunk): boolean => finishReasonIn(chunk) !== null || blockReasonIn(chunk) !== null

type Part = NonNullable<NonNullable<NonNullable<AnswerChunk["candidates"]>[number]["content"]>["parts"]>[number]

/** A call comes whole. */
const callIn = ({ functionCall: call, thoughtSignature }: Part): ReadonlyArray<GatheredCall> =>
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

/** An answer after one more chunk, and the text in that, which thoughts are no part of. */
export const addChunk = (answer: Answer, chunk: AnswerChunk): readonly [Answer, string] => {
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

/** The end of an answer; one that holds no candidate, was cut before the model said that it is done, or withheld has none. */
export const endAnswer = (answer: Answer): Either.Either<ChatChunk, AnswerIsNonsense | AnswerIsWithheld> => {
  if (answer.blockReason !== null) return Either.left(new AnswerIsWithheld({ reason: answer.blockReason }))
  if (!answer.hasCandidate) return Either.left(new AnswerIsNonsense({ reason: "an answer without a candidate" }))
  switch (answer.finishReason) {
    case null:
      return Either.left(new AnswerIsNonsense({ reason: "an answer that was cut short" }))
    case "STOP":
    // Not Google's own word, but that of some who speak like it.
    case "FUNCTION_CALL":
      return Either.right({
        type: "end",
        usage: answer.usage,
        finishReason: answer.calls.length === 0 ? "stop" : callsFinishReason
      })
    case "MAX_TOKENS":
      return Either.right({ type: "end", usage: answer.usage, finishReason: "length" })
    case "MALFORMED_FUNCTION_CALL":
    case "UNEXPECTED_TOOL_CALL":
      return Either.left(new AnswerIsNonsense({ reason: "a call of a tool that cannot be read" }))
    // Every other reason is something found wrong with the answer: SAFETY, RECITATION, BLOCKLIST and the like.
    default:
      return Either.left(new AnswerIsWithheld({ reason: answer.finishReason }))
  }
}

/** What is heard on the wire in the words of the AI layer. */
export const readAnswer = foldAnswer({ nothing, add: addChunk, end: endAnswer, calls: ({ calls }) => calls })
