import { Option } from "effect"
import type { Message } from "../Conversation.ts"

/** Stands for a session's messages up to `upToSeq` when a model is told what went before. */
export interface ConversationSummary {
  readonly text: string
  readonly upToSeq: number
}

/** Characters of a summary that are kept at most. */
export const maximumSummaryLength = 32_000

/**
 * The summary that a cell made in the turn of a message, as it may be kept. It cannot stand for the message itself or what
 * came after; one that stands for nothing, or says nothing, is none.
 */
export const validateSummary = (
  message: Pick<Message, "seq">,
  offered: { readonly summary: string; readonly upToSeq: number }
): Option.Option<ConversationSummary> => {
  const text = offered.summary.trim().slice(0, maximumSummaryLength)
  const upToSeq = Math.min(offered.upToSeq, message.seq - 1)
  return text === "" || upToSeq < 1 ? Option.none() : Option.some({ text, upToSeq })
}
