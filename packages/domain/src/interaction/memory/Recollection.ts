import { DateTime } from "effect"
import type { Sender } from "../Conversation.ts"

/** What an agent wrote down to keep. */
export interface MemoryNote {
  readonly kind: "note"
  readonly text: string
  readonly at: DateTime.Utc
}

/** What was said in one of the agent's conversations. */
export interface RecalledMessage {
  readonly kind: "message"
  readonly sender: Sender
  readonly text: string
  readonly at: DateTime.Utc
}

export type Recollection = MemoryNote | RecalledMessage

/** Characters of one recollection at most. */
export const maximumRecollectionLength = 500
/** Characters of all memories of a turn at most. */
export const maximumMemoriesLength = 4_000

const ellipsis = "…"

/** Cuts between characters, never inside one that takes two places. */
const cut = (text: string, from: number, to: number): string =>
  text.slice(from, to).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "")

/**
 * A text in at most `length` characters: the part that begins shortly before the first word of the question that stands
 * in it, or the beginning when none does.
 */
export const makeExcerpt = (text: string, question: string, length: number = maximumRecollectionLength): string => {
  const whole = text.trim()
  if (whole.length <= length) return whole
  const lower = whole.toLowerCase()
  const places = (question.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])
    .slice(0, 32)
    .map((word) => lower.indexOf(word))
    .filter((place) => place >= 0)
  const first = places.length === 0 ? 0 : Math.min(...places)
  const room = length - 2 * ellipsis.length
  const from = Math.max(0, Math.min(first - Math.floor(room / 4), whole.length - room))
  const to = Math.min(whole.length, from + room)
  return `${from > 0 ? ellipsis : ""}${cut(whole, from, to)}${to < whole.length ? ellipsis : ""}`
}

const speaker = { user: "User", agent: "Agent" } as const

/** A recollection in words, at most `recollectionLength` characters. */
export const formatRecollection = (recollection: Recollection, question: string): string => {
  if (recollection.kind === "note") return makeExcerpt(recollection.text, question)
  const before = `${speaker[recollection.sender]}: `
  return `${before}${makeExcerpt(recollection.text, question, maximumRecollectionLength - before.length)}`
}

/** Leaves out what says the same as an earlier one; the same question is often asked again. */
export const deduplicateRecollections = <R extends Recollection>(recollections: ReadonlyArray<R>): ReadonlyArray<R> => {
  const seen = new Set<string>()
  return recollections.filter(({ text }) => {
    const key = text.trim()
    return seen.has(key) ? false : seen.add(key)
  })
}

/**
 * What an agent knows when a turn begins, most telling first: notes and what was said elsewhere take turns, so that
 * neither crowds the other out of the budget. What does not fit is left out.
 */
export const selectMemories = (
  notes: ReadonlyArray<MemoryNote>,
  said: ReadonlyArray<RecalledMessage>,
  question: string,
  characters: number = maximumMemoriesLength
): ReadonlyArray<string> => {
  const texts = deduplicateRecollections<Recollection>(
    Array.from({ length: Math.max(notes.length, said.length) }, (_, place) => [notes[place], said[place]])
      .flat()
      .filter((recollection) => recollection !== undefined)
  ).map((recollection) => {
    const words = formatRecollection(recollection, question)
    return recollection.kind === "note"
      ? words
      : `In an earlier conversation, on ${DateTime.formatIsoDateUtc(recollection.at)}. ${words}`
  })
  let left = characters
  return texts.filter((text) => {
    if (text.length > left) return false
    left -= text.length
    return true
  })
}
