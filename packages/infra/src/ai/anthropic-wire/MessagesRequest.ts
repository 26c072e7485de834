import type { ChatMessage, ChatOptions } from "@berth/domain/ai/ModelChat"
import { readTurns } from "../wire/Turns.ts"
import { wireModel } from "./ModelName.ts"
import type { MessagesBody } from "./WireBodies.ts"

// Everywhere else an answer may be as long as the model can make it; here a limit must be said, and this one is below
// that of every model since the fourth generation.
const usualLimit = 32_000

/** The longest answer of a model, in tokens, where it is known to be short. More is refused. */
const longestAnswer = (model: string): number => {
  if (/^claude-3-[a-z]/.test(model)) return 4_096
  return model.startsWith("claude-3-5-") ? 8_192 : Number.POSITIVE_INFINITY
}

// Models after 4.6 sample in their own way and refuse to be told how.
const samplesAsTold = (model: string) => /^claude-(3-|[a-z]+-4(-[0-6])?(-\d{8})?$)/.test(model)

/** How to sample, where that can be said: as one of two numbers, and no hotter than 1. */
const samplingOf = (model: string, { temperature, topP }: ChatOptions): Pick<MessagesBody, "temperature" | "top_p"> => {
  if (!samplesAsTold(model)) return {}
  if (temperature !== undefined) return { temperature: Math.min(temperature, 1) }
  return topP === undefined ? {} : { top_p: topP }
}

/** The body of a call. What the model would refuse is left out or written as it wants. */
export const messagesRequest = (
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): MessagesBody => {
  const model = wireModel(modelId)
  const { system, turns } = readTurns(messages)
  return {
    model,
    max_tokens: Math.min(options.maxTokens ?? usualLimit, longestAnswer(model)),
    ...(system === null ? {} : { system }),
    messages: turns.map(({ role, text }) => ({ role, content: text })),
    stream: true,
    ...samplingOf(model, options)
  }
}
