import type { Message } from "../Conversation.ts"

export const maximumHistoryMessages = 400
/** Maximum characters of a history, so that a turn fits into its protocols' limits. */
export const maximumHistoryCharacters = 300_000

/** Returns the newest messages within the budget, oldest first. */
export const fitHistory = <M extends Pick<Message, "content">>(
  messages: ReadonlyArray<M>,
  characters: number = maximumHistoryCharacters,
  lengthOf: (message: M) => number = ({ content }) => content.length
): ReadonlyArray<M> => {
  let left = characters
  const first = messages.findLastIndex((message) => {
    left -= lengthOf(message)
    return left < 0
  })
  return messages.slice(first + 1)
}
