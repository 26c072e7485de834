import type { ChatMessage } from "./ModelChat.ts"

const encoder = new TextEncoder()

// What roles and separators take beside the text of a message.
const tokensAroundMessage = 4

/** About how many tokens a text takes: one per four bytes of UTF-8, rounded up, which rather over- than underrates prose. */
export const estimateTokens = (text: string): number => Math.ceil(encoder.encode(text).length / 4)

/** About how many tokens a conversation takes as a prompt. */
export const estimatePromptTokens = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.reduce((sum, message) => sum + tokensAroundMessage + estimateTokens(message.content), 0)
