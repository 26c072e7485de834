import { type Message, toChatRole } from "../Conversation.ts"

/** Limits of the memory in the API: messages, and characters of each. */
export const recentMemoryLimits = { messages: 10, characters: 100 }

export const toMemoryItem = ({ content, sender }: Message) => ({
  role: toChatRole(sender),
  content: [...content].slice(0, recentMemoryLimits.characters).join("")
})
