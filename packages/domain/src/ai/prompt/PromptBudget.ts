import { oncePerObject } from "../../shared/ObjectMemo.ts"
import { reasoningMaxTokens } from "../models/ModelCost.ts"
import { estimateImageTokens, estimateTokens, tokensAroundMessage } from "./TokenEstimate.ts"
import type { ChatMessage, ToolSpec } from "../chat/ModelChat.ts"

/**
 * Tokens of a message as JSON, since it must fit a request body too. Kept, as those of a tool: a turn needs them up to
 * three times.
 */
export const estimateMessageTokens = oncePerObject(
  (message: ChatMessage): number =>
    tokensAroundMessage +
    estimateTokens(JSON.stringify(message.content)) +
    estimateImageTokens(message) +
    (message.role === "assistant" && message.toolCalls !== undefined
      ? estimateTokens(JSON.stringify(message.toolCalls))
      : 0) +
    (message.role === "tool" ? estimateTokens(`${message.toolCallId}${message.toolName}`) : 0)
)

const estimateSerializedTokens = oncePerObject((tool: ToolSpec) => estimateTokens(JSON.stringify(tool)))

/** Tokens of tools as a JSON array. */
export const estimateSerializedToolTokens = (tools: ReadonlyArray<ToolSpec>): number =>
  tools.reduce((sum, tool) => sum + estimateSerializedTokens(tool) + 1, Math.min(tools.length, 1))

export const estimateMessagesTokens = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0)

/** A body has at most 1 MiB and an estimated token at most five bytes. */
const wireTokens = 180_000

export const computeUsableWindow = (contextWindow: number): number => Math.max(0, Math.min(contextWindow, wireTokens))

/**
 * Returns the maximum tokens of a prompt; the rest is for the answer: the owner's limit or the largest default, at most
 * a quarter of the window.
 */
export const computePromptBudget = (contextWindow: number, maxTokens: number | null): number => {
  const usable = computeUsableWindow(contextWindow)
  return usable - Math.min(maxTokens ?? reasoningMaxTokens, Math.floor(usable / 4))
}

/** Returns the index of the oldest message of the newest that fit. */
export const findNewestFitting = (history: ReadonlyArray<{ readonly tokens: number }>, tokens: number): number => {
  let left = tokens
  const last = history.findLastIndex((message) => {
    left -= message.tokens
    return left < 0
  })
  return last + 1
}

const cutMark = "\n[…]\n"
/** Replaces a text that is dropped completely. */
const nothingLeft = "[…]"
/** Tokens of the shortest truncated text. */
export const minimumTruncatedTokens = 6

/**
 * Returns the beginning and the end of a text in at most `tokens` tokens; `tokens` is at least
 * `minimumTruncatedTokens`.
 */
export const truncateToTokens = (text: string, tokens: number): string => {
  const tokensOf = (truncated: string) => estimateTokens(JSON.stringify(truncated))
  if (tokensOf(text) <= tokens) return text
  const keep = (characters: number) => {
    const head = Math.ceil(characters / 2)
    return (text.slice(0, head) + cutMark + text.slice(text.length - (characters - head))).toWellFormed()
  }
  let [fits, tooMany] = [0, Math.min(text.length, tokens * 5 + 1)]
  while (fits + 1 < tooMany) {
    const middle = Math.floor((fits + tooMany) / 2)
    if (tokensOf(keep(middle)) <= tokens) fits = middle
    else tooMany = middle
  }
  return fits === 0 ? nothingLeft : keep(fits)
}
