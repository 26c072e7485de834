import { DateTime } from "effect"
import { idSchema } from "../../ids/IdGenerator.ts"
import type { ChatSessionId, MessageId, Sender } from "../Conversation.ts"

export const NoteId = idSchema("NoteId", "Id of a note of an agent, nte_…")
export type NoteId = typeof NoteId.Type

export interface MemoryNote {
  readonly kind: "note"
  readonly text: string
  readonly at: DateTime.Utc
}

/** A message of another conversation. */
export interface RecalledMessage {
  readonly kind: "message"
  /** `person`: another person on a messaging channel. */
  readonly sender: Sender | "person"
  readonly text: string
  readonly at: DateTime.Utc
}

type Recollection = MemoryNote | RecalledMessage

export type StoredNote = MemoryNote & { readonly id: NoteId }
export type MemoryMatch = StoredNote | (RecalledMessage & { readonly id: MessageId; readonly sessionId: ChatSessionId })

const maximumRecollectionLength = 500
const maximumMemoriesLength = 4_000

const ellipsis = "…"

/** Truncates without splitting a surrogate pair. */
const cut = (text: string, from: number, to: number): string =>
  text.slice(from, to).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "")

/**
 * Returns at most `length` characters, starting shortly before the first word of the question, else at the beginning.
 */
export const makeExcerpt = (text: string, question: string, length: number = maximumRecollectionLength): string => {
  const trimmed = text.trim()
  if (trimmed.length <= length) return trimmed
  const lower = trimmed.toLowerCase()
  const positions = (question.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])
    .slice(0, 32)
    .map((word) => lower.indexOf(word))
    .filter((index) => index >= 0)
  const first = positions.length === 0 ? 0 : Math.min(...positions)
  const room = length - 2 * ellipsis.length
  const from = Math.max(0, Math.min(first - Math.floor(room / 4), trimmed.length - room))
  const to = Math.min(trimmed.length, from + room)
  return `${from > 0 ? ellipsis : ""}${cut(trimmed, from, to)}${to < trimmed.length ? ellipsis : ""}`
}

const speaker = { user: "User", agent: "Agent", person: "A person of a messaging channel" } as const

/** Formats a recollection in at most `maximumRecollectionLength` characters. */
export const formatRecollection = (recollection: Recollection, question: string): string => {
  if (recollection.kind === "note") return makeExcerpt(recollection.text, question)
  const before = `${speaker[recollection.sender]}: `
  return `${before}${makeExcerpt(recollection.text, question, maximumRecollectionLength - before.length)}`
}

/** Removes repeated texts. */
export const deduplicateRecollections = <R extends Recollection>(recollections: ReadonlyArray<R>): ReadonlyArray<R> => {
  const seen = new Set<string>()
  return recollections.filter(({ text }) => {
    const key = text.trim()
    return seen.has(key) ? false : seen.add(key)
  })
}

/**
 * Selects memories within the budget, most relevant first. Notes and messages alternate, so that neither exhausts the
 * budget.
 */
export const selectMemories = (
  notes: ReadonlyArray<MemoryNote>,
  messages: ReadonlyArray<RecalledMessage>,
  question: string,
  characters: number = maximumMemoriesLength
): ReadonlyArray<string> => {
  const texts = deduplicateRecollections<Recollection>(
    Array.from({ length: Math.max(notes.length, messages.length) }, (_, index) => [notes[index], messages[index]])
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
