import { Option } from "effect"
import type { Message } from "../Conversation.ts"

/** Replaces the messages of a session up to `upToSeq` in prompts. */
export interface ConversationSummary {
  readonly text: string
  readonly upToSeq: number
}

export const maximumSummaryLength = 32_000

/**
 * Validates a summary from a runtime in the turn of a message. It may cover earlier messages only; an empty summary is
 * none.
 */
export const validateSummary = (
  message: Pick<Message, "seq">,
  offered: { readonly summary: string; readonly upToSeq: number }
): Option.Option<ConversationSummary> => {
  const text = offered.summary.trim().slice(0, maximumSummaryLength)
  const upToSeq = Math.min(offered.upToSeq, message.seq - 1)
  return text === "" || upToSeq < 1 ? Option.none() : Option.some({ text, upToSeq })
}
