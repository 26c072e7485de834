import type { ChatMessage } from "@berth/domain/ai/ModelChat"

const nameTold = /\b(?:my name is|call me)\s+([\p{L}\p{M}][\p{L}\p{M}'’-]*)/iu
const nameAsked = /\b(?:what(?:'s| is) my name|who am i)\b/i
const thingTold = /\bremember(?: that)?[:,]?\s+(.+?)[.!]*$/iu
const thingAsked = /\bwhat (?:did i ask you|did i tell you) to remember\b|\bwhat do you remember\b/i

/** The last thing that a user said, as `pattern` finds it. */
const lastTold = (messages: ReadonlyArray<ChatMessage>, pattern: RegExp): string | null => {
  const told = messages.flatMap(({ content, role }) => (role === "user" ? (pattern.exec(content)?.[1] ?? []) : []))
  return told.at(-1) ?? null
}

/**
 * What the sandbox model answers: a fact from the conversation when that is what the user asks for, else an echo. It
 * knows nothing else, and the same conversation always gets the same answer.
 */
export const sandboxReply = (messages: ReadonlyArray<ChatMessage>): string => {
  const said = messages.findLast(({ role }) => role === "user")?.content.trim() ?? ""
  if (nameAsked.test(said)) {
    const name = lastTold(messages, nameTold)
    return name === null ? "You have not told me your name yet." : `Your name is ${name}.`
  }
  if (thingAsked.test(said)) {
    const thing = lastTold(messages, thingTold)
    return thing === null ? "You have not asked me to remember anything yet." : `You asked me to remember: ${thing}`
  }
  const name = nameTold.exec(said)?.[1]
  if (name !== undefined) return `Nice to meet you, ${name}. This is Berth's sandbox model; I will remember your name.`
  const thing = thingTold.exec(said)?.[1]
  if (thing !== undefined) return `I will remember: ${thing}`
  return said === "" ? "Berth's sandbox model is here." : `Berth's sandbox model heard: ${said}`
}
