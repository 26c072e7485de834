import { findNewestFitting } from "@berth/domain/ai/prompt/PromptBudget"

/** Share of the context window above which a conversation is summarized. */
const compactAboveShare = 0.6
/** Remaining share, so that not every turn summarizes. */
const compactToShare = 0.3

interface SizedMessage {
  readonly seq: number
  readonly role: "user" | "assistant"
  /** At least 1. */
  readonly tokens: number
}

interface CompactionInput {
  /** Usable tokens. */
  readonly window: number
  /** Tokens of the system message, the tools and the new message. */
  readonly fixed: number
  /** Oldest first. */
  readonly history: ReadonlyArray<SizedMessage>
  /** Upper bound of the new summary. */
  readonly summary: number
}

/** Returns the number of oldest messages to summarize; 0 while the conversation fits. */
export const countMessagesToSummarize = ({ fixed, history, summary, window }: CompactionInput): number => {
  const historyTokens = history.reduce((sum, { tokens }) => sum + tokens, 0)
  if (fixed + historyTokens <= window * compactAboveShare) return 0
  const first = findNewestFitting(history, Math.max(0, window * compactToShare - fixed - summary))
  // The remaining history must begin with a user message.
  const question = history.findIndex(({ role }, at) => at >= first && role === "user")
  return question === -1 ? first : question
}
