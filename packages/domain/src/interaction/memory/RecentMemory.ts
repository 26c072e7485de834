import { type Message, toChatRole } from "../Conversation.ts"

/** Limits of the memory that the API shows: messages, and characters of each. */
export const recentMemoryLimits = { messages: 10, characters: 100 }

/** A message as the memory shows it. */
export const toMemoryItem = ({ content, sender }: Message) => ({
  role: toChatRole(sender),
  content: [...content].slice(0, recentMemoryLimits.characters).join("")
})
