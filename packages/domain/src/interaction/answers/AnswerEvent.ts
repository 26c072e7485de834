import { Option } from "effect"
import type { ToolActivity } from "../../skills/tools/ToolActivity.ts"
import { type Message, MessageId } from "../Conversation.ts"

/** Part of an answer's text. */
export interface AnswerDelta {
  readonly type: "delta"
  readonly n: number
  readonly text: string
}

/** Start or end of a tool call in the answer. */
interface AnswerTool {
  readonly type: "tool"
  readonly n: number
  readonly call: ToolActivity
}

/** Events before the end, numbered from 1 without gaps. */
export type AnswerPart = AnswerDelta | AnswerTool

/** End of an answer, numbered after its last part; the maximum if the number of parts is unknown. */
export type AnswerEnd =
  | { readonly type: "done"; readonly n: number; readonly reply: Message }
  | { readonly type: "failed"; readonly n: number; readonly reason: string }

/** Events of an answer, as stored and as sent to clients: parts, then one end. */
export type AnswerEvent = AnswerPart | AnswerEnd

export const isAnswerEnd = (event: AnswerEvent): event is AnswerEnd => event.type === "done" || event.type === "failed"

/** Position of a client in an answer: the message and the number of the last received event, 0 before the first. */
export interface AnswerPosition {
  readonly messageId: MessageId
  readonly after: number
}

/** The largest number of an event id. */
export const maximumEventNumber = 999_999_999

const pattern = /^([^\s:]{1,100}):(\d{1,9})$/

/** Formats the id of an answer's event, the same on every protocol: `<messageId>:<n>`. */
export const formatAnswerEventId = (messageId: MessageId, n: number): string => `${messageId}:${n}`

export const parseAnswerEventId = (text: string): Option.Option<AnswerPosition> => {
  const [, messageId, after] = pattern.exec(text.trim()) ?? []
  return messageId === undefined || after === undefined
    ? Option.none()
    : Option.some({ messageId: MessageId.make(messageId), after: Number(after) })
}
