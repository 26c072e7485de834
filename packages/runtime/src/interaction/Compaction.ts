import { findNewestFitting } from "@berth/domain/ai/prompt/PromptBudget"

/** The share of a window that a conversation may fill before its oldest part is summarised. */
const compactAboveShare = 0.6
/** The share that is left of it then, so that not every turn has to summarise. */
const compactToShare = 0.3

export interface SizedMessage {
  /** The message's place in its session. */
  readonly seq: number
  readonly role: "user" | "assistant"
  /** At least 1. */
  readonly tokens: number
}

export interface CompactionInput {
  /** Tokens that are worked with. */
  readonly window: number
  /** Tokens of what is told in any case: the system message with memories and summary, the tools, and the new message. */
  readonly fixed: number
  /** What went before, oldest first. */
  readonly history: ReadonlyArray<SizedMessage>
  /** Tokens of a new summary at most. */
  readonly summary: number
}

/** How many of the oldest messages are to be summarised; none while everything is short enough. */
export const countMessagesToSummarize = ({ fixed, history, summary, window }: CompactionInput): number => {
  const said = history.reduce((sum, { tokens }) => sum + tokens, 0)
  if (fixed + said <= window * compactAboveShare) return 0
  const first = findNewestFitting(history, Math.max(0, window * compactToShare - fixed - summary))
  // What is kept begins with somebody's question, because an answer alone says little.
  const question = history.findIndex(({ role }, at) => at >= first && role === "user")
  return question === -1 ? first : question
}
