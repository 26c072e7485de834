import type { ChatMessage } from "@berth/domain/ai/ModelChat"
import { knownFromEarlier, saidEarlier } from "./SandboxSections.ts"

const nameTold = /\b(?:my name is|call me)\s+([\p{L}\p{M}][\p{L}\p{M}'’-]*)/iu
/** As notes of others put it: "The user's name is Zoë". */
const nameNoted =
  /\b(?:(?:user|owner)(?:['’]s)? name is|(?:user|owner|person) (?:is|was) (?:named|called))\s+([\p{L}\p{M}][\p{L}\p{M}'’-]*)/iu
const nameAsked = /\b(?:what(?:['’]?s| is) my name|who am i)\b/i
export const thingTold = /\bremember(?: that)?[:,]?\s+(.+?)[.!]*$/iu
export const thingAsked = /\bwhat (?:did i ask you|did i tell you) to remember\b|\bwhat do you remember\b/i

const toldIn = (text: string, ...patterns: ReadonlyArray<RegExp>): string | null => {
  for (const pattern of patterns) {
    const told = pattern.exec(text)?.[1]
    if (told !== undefined) return told
  }
  return null
}

/** The last thing that a user said, as `pattern` finds it. */
const lastTold = (messages: ReadonlyArray<ChatMessage>, pattern: RegExp): string | null =>
  messages.reduce<string | null>(
    (last, { content, role }) => (role === "user" ? (toldIn(content, pattern) ?? last) : last),
    null
  )

/** Whether somebody tells something here that one may be asked for later. */
export const tellsSomething = (text: string): boolean =>
  nameTold.test(text) || (thingTold.test(text) && !thingAsked.test(text))

/** What the user said last. */
export const lastSaid = (messages: ReadonlyArray<ChatMessage>): string =>
  messages.findLast(({ role }) => role === "user")?.content.trim() ?? ""

const nameOf = (messages: ReadonlyArray<ChatMessage>): string | null => {
  const inTalk = lastTold(messages, nameTold)
  if (inTalk !== null) return inTalk
  // What a summary keeps is nearer than what is known from elsewhere, and its last word counts as in the conversation.
  const lines = [...saidEarlier(messages).toReversed(), ...knownFromEarlier(messages)]
  for (const line of lines) {
    const told = toldIn(line, nameTold, nameNoted)
    if (told !== null) return told
  }
  return null
}

const thingsReply = (messages: ReadonlyArray<ChatMessage>): string => {
  const inTalk = lastTold(
    messages.filter(({ content }) => !thingAsked.test(content)),
    thingTold
  )
  if (inTalk !== null) return `You asked me to remember: ${inTalk}`
  const summed = saidEarlier(messages).flatMap((line) => toldIn(line, thingTold) ?? [])
  const last = summed.at(-1)
  if (last !== undefined) return `You asked me to remember: ${last}`
  const known = knownFromEarlier(messages)
  return known.length === 0
    ? "You have not asked me to remember anything yet."
    : `I know from earlier: ${known.join("; ")}`
}

/**
 * What the sandbox model answers in words: a fact from the conversation, or from what its instructions say it knows, when
 * that is what the user asks for, else an echo. It knows nothing else, and the same conversation always gets the same
 * answer.
 */
export const sandboxReply = (messages: ReadonlyArray<ChatMessage>): string => {
  const said = lastSaid(messages)
  if (nameAsked.test(said)) {
    const name = nameOf(messages)
    return name === null ? "You have not told me your name yet." : `Your name is ${name}.`
  }
  if (thingAsked.test(said)) return thingsReply(messages)
  const name = nameTold.exec(said)?.[1]
  if (name !== undefined) return `Nice to meet you, ${name}. This is Berth's sandbox model; I will remember your name.`
  const thing = thingTold.exec(said)?.[1]
  if (thing !== undefined) return `I will remember: ${thing}`
  return said === "" ? "Berth's sandbox model is here." : `Berth's sandbox model heard: ${said}`
}
