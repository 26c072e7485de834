import type { AttachmentJson, SessionMessageJson, ToolActivityJson } from "../wire.ts"

/** An answer in progress without its text, which changes with each delta. */
export interface LiveHead {
  readonly key: string
  /** The message, unless the stored conversation contains it. */
  readonly question: string | undefined
  readonly attachments: ReadonlyArray<AttachmentJson>
  readonly messageId: string | undefined
  readonly tools: ReadonlyArray<ToolActivityJson>
  readonly isBroken: boolean
  readonly isStopping: boolean
  readonly failure: { readonly message: string; readonly traceId: string | undefined } | undefined
}

/** A message and its reply; either can be missing. */
interface MessagePair {
  /** Unchanged when the answer in progress is stored. */
  readonly key: string
  readonly question?: SessionMessageJson
  readonly reply?: SessionMessageJson
  readonly live?: LiveHead
}

/** Whether the answer belongs to the message. The first event of a new answer names its message. */
const isAnswerTo = ({ content, id, status }: SessionMessageJson, { messageId, question }: LiveHead) =>
  messageId === id || (messageId === undefined && status === "pending" && question === content)

/** Pairs messages and replies in order: a reply follows its message, unstored messages are last. */
export const pairMessages = (
  messages: ReadonlyArray<SessionMessageJson>,
  answers: ReadonlyArray<LiveHead>
): ReadonlyArray<MessagePair> => {
  const exchanges: Array<MessagePair> = []
  const unmatched = new Set(answers)
  for (const message of messages) {
    const last = exchanges.at(-1)
    if (message.role === "user") {
      const live = [...unmatched].find((answer) => isAnswerTo(message, answer))
      if (live === undefined) exchanges.push({ key: message.id, question: message })
      else {
        exchanges.push({ key: message.id, question: message, live })
        unmatched.delete(live)
      }
    } else if (last?.question !== undefined && last.reply === undefined)
      exchanges[exchanges.length - 1] = { ...last, reply: message }
    else exchanges.push({ key: message.id, reply: message })
  }
  return [...exchanges, ...[...unmatched].map((live) => ({ key: live.messageId ?? live.key, live }))]
}

/**
 * Names the message of an answer, and drops another answer to it: the conversation can contain the message before the
 * service responds to its sender, and is then followed.
 */
export const nameMessage = <A extends LiveHead>(
  answers: ReadonlyArray<A>,
  key: string,
  messageId: string
): ReadonlyArray<A> =>
  answers.flatMap((answer) => {
    if (answer.key === key) return [{ ...answer, messageId }]
    return answer.messageId === messageId ? [] : [answer]
  })

/** Merges messages with those of a later response, which may be older: no message is lost or becomes pending again. */
export const mergeMessages = (
  known: ReadonlyArray<SessionMessageJson>,
  read: ReadonlyArray<SessionMessageJson>
): ReadonlyArray<SessionMessageJson> => {
  const before = new Map(known.map((message) => [message.id, message]))
  const merged = read.map((message) => {
    const old = before.get(message.id)
    if (old === undefined) return message
    const isSame = old.status === message.status && old.content === message.content
    // An identical object keeps its rendering.
    return isSame || (old.status !== "pending" && message.status === "pending") ? old : message
  })
  for (const [index, message] of known.entries()) {
    if (merged.some(({ id }) => id === message.id)) continue
    const previous = known[index - 1]?.id
    merged.splice(merged.findIndex(({ id }) => id === previous) + 1, 0, message)
  }
  return merged
}
