import type { ChatChunk, TokenUsage } from "@berth/domain/ai/ModelChat"
import { Either } from "effect"
import { foldAnswer } from "../wire/FoldAnswer.ts"
import { AnswerIsNonsense } from "../wire/WireFailure.ts"
import type { CompletionChunk, WireUsage } from "./WireBodies.ts"

interface Answer {
  readonly hasChoice: boolean
  readonly finishReason: string | null
  readonly usage: TokenUsage | null
}

const nothing: Answer = { hasChoice: false, finishReason: null, usage: null }

const usageOf = (usage: WireUsage): TokenUsage => ({
  promptTokens: usage.prompt_tokens,
  completionTokens: usage.completion_tokens,
  totalTokens: usage.total_tokens ?? usage.prompt_tokens + usage.completion_tokens
})

/** An answer after one more chunk, and the text in that. */
export const addChunk = (answer: Answer, chunk: CompletionChunk): readonly [Answer, string] => {
  const [choice] = chunk.choices
  const usage = chunk.usage ?? chunk.x_groq?.usage
  return [
    {
      hasChoice: answer.hasChoice || choice !== undefined,
      finishReason: choice?.finish_reason ?? answer.finishReason,
      usage: usage === undefined || usage === null ? answer.usage : usageOf(usage)
    },
    choice?.delta?.content ?? ""
  ]
}

/** The end of an answer; one that holds no choice, or was cut before the model said that it is done, has none. */
export const endAnswer = (answer: Answer): Either.Either<ChatChunk, AnswerIsNonsense> => {
  if (!answer.hasChoice) return Either.left(new AnswerIsNonsense({ reason: "an answer without a choice" }))
  if (answer.finishReason === null) return Either.left(new AnswerIsNonsense({ reason: "an answer that was cut short" }))
  return Either.right({ type: "end", usage: answer.usage, finishReason: answer.finishReason })
}

/** What is heard on the wire in the words of the AI layer. */
export const readAnswer = foldAnswer({ nothing, add: addChunk, end: endAnswer })
