import { Option } from "effect"
import { type Message, MessageId } from "../Conversation.ts"

/** A piece of an answer. Pieces are numbered from 1. */
export interface AnswerDelta {
  readonly type: "delta"
  readonly n: number
  readonly text: string
}

/** An answer as it comes: pieces, then the stored reply, or that there will be none. The end is numbered behind the last piece. */
export type AnswerEvent =
  | AnswerDelta
  | { readonly type: "done"; readonly n: number; readonly reply: Message }
  | { readonly type: "failed"; readonly n: number; readonly reason: string }

/** Where somebody stopped to hear an answer: the message it answers and the number of the last event, 0 before the first. */
export interface AnswerPosition {
  readonly messageId: MessageId
  readonly after: number
}

const pattern = /^([^\s:]{1,100}):(\d{1,9})$/

/** The id of an answer's event, as clients show it again when they come back: `<messageId>:<n>`. */
export const formatAnswerEventId = (messageId: MessageId, n: number): string => `${messageId}:${n}`

export const parseAnswerEventId = (text: string): Option.Option<AnswerPosition> => {
  const [, messageId, after] = pattern.exec(text.trim()) ?? []
  return messageId === undefined || after === undefined
    ? Option.none()
    : Option.some({ messageId: MessageId.make(messageId), after: Number(after) })
}
