import { estimateTokens } from "./TokenEstimate.ts"
import type { ChatMessage } from "../chat/ModelChat.ts"
import {
  truncateToTokens,
  estimateMessageTokens,
  findNewestFitting,
  estimateMessagesTokens,
  minimumTruncatedTokens
} from "./PromptBudget.ts"

/** A model call with tool calls, and their results. */
export type ToolRound = ReadonlyArray<ChatMessage>

export interface Prompt {
  readonly system: ChatMessage
  /** Oldest first. */
  readonly history: ReadonlyArray<ChatMessage>
  readonly message: ChatMessage
  readonly rounds: ReadonlyArray<ToolRound>
}

export const flattenPrompt = ({ history, message, rounds, system }: Prompt): ReadonlyArray<ChatMessage> => [
  system,
  ...history,
  message,
  ...rounds.flat()
]

/** Minimum share of tool results in a budget. */
const resultsKeep = 0.25

/** Returns the largest length to which sizes can be truncated to fit a total; the longest are truncated first. */
const levelFor = (sizes: ReadonlyArray<number>, total: number): number => {
  const takes = (level: number) => sizes.reduce((sum, size) => sum + Math.min(size, level), 0)
  let [level, tooMuch] = [minimumTruncatedTokens, Math.max(minimumTruncatedTokens, ...sizes) + 1]
  while (level + 1 < tooMuch) {
    const middle = Math.floor((level + tooMuch) / 2)
    if (takes(middle) <= total) level = middle
    else tooMuch = middle
  }
  return level
}

const contentTokens = ({ content }: ChatMessage) => estimateTokens(JSON.stringify(content))

const cutContent = (message: ChatMessage, tokens: number): ChatMessage => {
  const content = truncateToTokens(message.content, tokens)
  if (message.role !== "user" || message.parts === undefined) return { ...message, content }
  const images = message.parts.filter(({ type }) => type === "image")
  return { ...message, content, parts: [{ type: "text", text: content }, ...images] }
}

/** Truncates tool results to a total, the longest first. */
const cutResults = (rounds: ReadonlyArray<ToolRound>, tokens: number): ReadonlyArray<ToolRound> => {
  const results = rounds.flat().filter(({ role }) => role === "tool")
  const overhead = results.reduce((sum, result) => sum + estimateMessageTokens(result) - contentTokens(result), 0)
  const level = levelFor(results.map(contentTokens), tokens - overhead)
  return rounds.map((round) => round.map((message) => (message.role === "tool" ? cutContent(message, level) : message)))
}

/** Truncates all messages, and drops the arguments of calls. */
const cutAll = (messages: ReadonlyArray<ChatMessage>, tokens: number): ReadonlyArray<ChatMessage> => {
  const bare = messages.map((message): ChatMessage =>
    message.role === "assistant" && message.toolCalls !== undefined
      ? { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: "{}" })) }
      : message
  )
  const overhead = estimateMessagesTokens(bare) - bare.reduce((sum, message) => sum + contentTokens(message), 0)
  const level = levelFor(bare.map(contentTokens), tokens - overhead)
  return bare.map((message) => cutContent(message, level))
}

/**
 * Fits a prompt into a budget: truncates long results, drops the oldest messages, drops all but the last round,
 * truncates the rest.
 */
export const fitPrompt = (prompt: Prompt, budget: number): ReadonlyArray<ChatMessage> => {
  const whole = flattenPrompt(prompt)
  const fits = (messages: ReadonlyArray<ChatMessage>) => estimateMessagesTokens(messages) <= budget
  if (fits(whole)) return whole

  const results = estimateMessagesTokens(prompt.rounds.flat().filter(({ role }) => role === "tool"))
  const others = estimateMessagesTokens(whole) - results
  const rounds = cutResults(prompt.rounds, Math.max(budget - others, budget * resultsKeep))
  const first = findNewestFitting(
    prompt.history.map((message) => ({ tokens: estimateMessageTokens(message) })),
    budget - estimateMessagesTokens(flattenPrompt({ ...prompt, history: [], rounds }))
  )
  const shorter = flattenPrompt({ ...prompt, history: prompt.history.slice(first), rounds })
  if (fits(shorter)) return shorter

  const withLastRound = cutAll(flattenPrompt({ ...prompt, history: [], rounds: prompt.rounds.slice(-1) }), budget)
  return fits(withLastRound) ? withLastRound : cutAll([prompt.system, prompt.message], budget)
}
