import type { Message } from "../Conversation.ts"

/** Messages of a session that a model is given at most. */
export const maximumHistoryMessages = 400
/** Characters of them at most, so that a turn always fits the wires it goes over. */
export const maximumHistoryCharacters = 300_000

/** The newest messages, oldest first, whose characters together stay within the budget. */
export const fitHistory = <M extends Pick<Message, "content">>(
  messages: ReadonlyArray<M>,
  characters: number = maximumHistoryCharacters
): ReadonlyArray<M> => {
  let left = characters
  const first = messages.findLastIndex(({ content }) => {
    left -= content.length
    return left < 0
  })
  return messages.slice(first + 1)
}
