import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { readPromptMemories, readPromptSummary } from "./SandboxPromptSections.ts"

const nameStatementPattern = /\b(?:my name is|call me)\s+([\p{L}\p{M}][\p{L}\p{M}'\u2019-]*)/iu
/** In stored notes: "The user's name is Zoë". */
const nameNotePattern =
  /\b(?:(?:user|owner)(?:['\u2019]s)? name is|(?:user|owner|person) (?:is|was) (?:named|called))\s+([\p{L}\p{M}][\p{L}\p{M}'\u2019-]*)/iu
const nameQuestionPattern = /\b(?:what(?:['\u2019]?s| is) my name|who am i)\b/i
export const rememberRequestPattern = /\bremember(?: that)?[:,]?\s+(.+?)[.!]*$/iu
export const recallQuestionPattern = /\bwhat (?:did i ask you|did i tell you) to remember\b|\bwhat do you remember\b/i

const findFirstMatch = (text: string, ...patterns: ReadonlyArray<RegExp>): string | null => {
  for (const pattern of patterns) {
    const match = pattern.exec(text)?.[1]
    if (match !== undefined) return match
  }
  return null
}

const findLastMatch = (messages: ReadonlyArray<ChatMessage>, pattern: RegExp): string | null =>
  messages.reduce<string | null>(
    (last, { content, role }) => (role === "user" ? (findFirstMatch(content, pattern) ?? last) : last),
    null
  )

/** Whether a text states a fact that can be queried later. */
export const statesFact = (text: string): boolean =>
  nameStatementPattern.test(text) || (rememberRequestPattern.test(text) && !recallQuestionPattern.test(text))

export const findLastUserMessage = (messages: ReadonlyArray<ChatMessage>): string =>
  messages.findLast(({ role }) => role === "user")?.content.trim() ?? ""

const findUserName = (messages: ReadonlyArray<ChatMessage>): string | null => {
  const inConversation = findLastMatch(messages, nameStatementPattern)
  if (inConversation !== null) return inConversation
  // The summary precedes memories; its last line is the most recent.
  const lines = [...readPromptSummary(messages).toReversed(), ...readPromptMemories(messages)]
  for (const line of lines) {
    const name = findFirstMatch(line, nameStatementPattern, nameNotePattern)
    if (name !== null) return name
  }
  return null
}

const makeRecallReply = (messages: ReadonlyArray<ChatMessage>): string => {
  const inConversation = findLastMatch(
    messages.filter(({ content }) => !recallQuestionPattern.test(content)),
    rememberRequestPattern
  )
  if (inConversation !== null) return `You asked me to remember: ${inConversation}`
  const summed = readPromptSummary(messages).flatMap((line) => findFirstMatch(line, rememberRequestPattern) ?? [])
  const last = summed.at(-1)
  if (last !== undefined) return `You asked me to remember: ${last}`
  const known = readPromptMemories(messages)
  return known.length === 0
    ? "You have not asked me to remember anything yet."
    : `I know from earlier: ${known.join("; ")}`
}

/** Returns a fact from the conversation or the instructions that the user requests, else an echo. Deterministic. */
export const makeSandboxReply = (messages: ReadonlyArray<ChatMessage>): string => {
  const message = findLastUserMessage(messages)
  if (nameQuestionPattern.test(message)) {
    const name = findUserName(messages)
    return name === null ? "You have not told me your name yet." : `Your name is ${name}.`
  }
  if (recallQuestionPattern.test(message)) return makeRecallReply(messages)
  const name = nameStatementPattern.exec(message)?.[1]
  if (name !== undefined) return `Nice to meet you, ${name}. This is Berth's sandbox model; I will remember your name.`
  const memory = rememberRequestPattern.exec(message)?.[1]
  if (memory !== undefined) return `I will remember: ${memory}`
  return message === "" ? "Berth's sandbox model is here." : `Berth's sandbox model heard: ${message}`
}
