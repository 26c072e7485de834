import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { type CompletedToolCall, toVendorConversation } from "./VendorConversation.ts"

/** `text` is blank only beside calls, results or parts. */
export type AlternatingTurn =
  | {
      readonly role: "user"
      readonly text: string
      /** What the calls of the assistant's turn before this gave; all of them, in their order. */
      readonly results?: ReadonlyArray<CompletedToolCall>
      /** The text with images in their places, where there are some; no text in it is blank. */
      readonly parts?: ReadonlyArray<ContentPart>
    }
  | { readonly role: "assistant"; readonly text: string; readonly calls?: ReadonlyArray<CompletedToolCall> }

/** A conversation as vendors want it who take turns: instructions apart, then user and assistant by turns. */
export interface AlternatingTurns {
  readonly system: string | null
  /** Begins and ends with the user; empty where nobody says anything. */
  readonly turns: ReadonlyArray<AlternatingTurn>
}

export const isBlankText = (text: string) => text.trim() === ""

const join = (one: string, other: string) => [one, other].filter((text) => !isBlankText(text)).join("\n\n")

const hasContent = (part: ContentPart) => part.type !== "text" || !isBlankText(part.text)

/** What a turn says, in pieces. */
const contentPartsOf = (turn: AlternatingTurn): ReadonlyArray<ContentPart> =>
  (turn.role === "user" ? turn.parts : undefined) ?? [{ type: "text" as const, text: turn.text }].filter(hasContent)

const partsOfBoth = (one: AlternatingTurn, other: AlternatingTurn): { readonly parts?: ReadonlyArray<ContentPart> } =>
  "parts" in one || "parts" in other ? { parts: [...contentPartsOf(one), ...contentPartsOf(other)] } : {}

const mergeNeighbors = (turns: ReadonlyArray<AlternatingTurn>): ReadonlyArray<AlternatingTurn> => {
  const merged: Array<AlternatingTurn> = []
  for (const turn of turns) {
    const last = merged.at(-1)
    // Calls are the last of a turn, and results the first: between neighbours stands neither.
    if (last?.role === turn.role)
      merged[merged.length - 1] = {
        ...last,
        ...turn,
        text: join(last.text, turn.text),
        ...partsOfBoth(last, turn)
      }
    else merged.push(turn)
  }
  return merged
}

// An agent may greet first, and be asked again after its last word; both are refused without a user's turn around them.
const openingTurn: AlternatingTurn = { role: "user", text: "Hello." }
const continuationTurn: AlternatingTurn = { role: "user", text: "Please go on." }

/**
 * The turns of a conversation. Blank messages, which are refused, are left out; instructions with nothing else are said
 * by the user.
 */
export const toAlternatingTurns = (messages: ReadonlyArray<ChatMessage>): AlternatingTurns => {
  const instructions: Array<string> = []
  const said: Array<AlternatingTurn> = []
  for (const one of toVendorConversation(messages)) {
    if (one.role === "assistant" && one.calls.length > 0) {
      said.push(
        { role: "assistant", text: isBlankText(one.text) ? "" : one.text, calls: one.calls },
        { role: "user", text: "", results: one.calls }
      )
    } else if (one.role === "user" && one.parts !== undefined) {
      said.push({ role: "user", text: one.text, parts: one.parts.filter(hasContent) })
    } else if (!isBlankText(one.text)) {
      if (one.role === "system") instructions.push(one.text)
      else said.push({ role: one.role, text: one.text })
    }
  }
  const system = instructions.length === 0 ? null : instructions.join("\n\n")
  const turns = mergeNeighbors(said)
  if (turns.length === 0) return { system: null, turns: system === null ? [] : [{ role: "user", text: system }] }
  return {
    system,
    turns: [
      ...(turns[0]?.role === "assistant" ? [openingTurn] : []),
      ...turns,
      ...(turns.at(-1)?.role === "assistant" ? [continuationTurn] : [])
    ]
  }
}
