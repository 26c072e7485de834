import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { type CompletedToolCall, toVendorConversation } from "./VendorConversation.ts"

/** `text` is blank only with calls, results or parts. */
export type AlternatingTurn =
  | {
      readonly role: "user"
      readonly text: string
      /** Results of all calls of the preceding assistant turn, in order. */
      readonly results?: ReadonlyArray<CompletedToolCall>
      /** Text and images in order; absent without images. No text is blank. */
      readonly parts?: ReadonlyArray<ContentPart>
    }
  | { readonly role: "assistant"; readonly text: string; readonly calls?: ReadonlyArray<CompletedToolCall> }

/** A conversation for vendors that require alternating turns and separate instructions. */
interface AlternatingTurns {
  readonly system: string | null
  /** Begins and ends with the user; empty for a conversation without text. */
  readonly turns: ReadonlyArray<AlternatingTurn>
}

export const isBlankText = (text: string) => text.trim() === ""

const join = (a: string, b: string) => [a, b].filter((text) => !isBlankText(text)).join("\n\n")

const hasContent = (part: ContentPart) => part.type !== "text" || !isBlankText(part.text)

const contentPartsOf = (turn: AlternatingTurn): ReadonlyArray<ContentPart> =>
  (turn.role === "user" ? turn.parts : undefined) ?? [{ type: "text" as const, text: turn.text }].filter(hasContent)

const partsOfBoth = (a: AlternatingTurn, b: AlternatingTurn): { readonly parts?: ReadonlyArray<ContentPart> } =>
  "parts" in a || "parts" in b ? { parts: [...contentPartsOf(a), ...contentPartsOf(b)] } : {}

const mergeNeighbors = (turns: ReadonlyArray<AlternatingTurn>): ReadonlyArray<AlternatingTurn> => {
  const merged: Array<AlternatingTurn> = []
  for (const turn of turns) {
    const last = merged.at(-1)
    // Calls end a turn and results begin one, so merged turns never have them in between.
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

// Vendors reject conversations that begin or end with the assistant, for example after a greeting or a repeated
// request.
const openingTurn: AlternatingTurn = { role: "user", text: "Hello." }
const continuationTurn: AlternatingTurn = { role: "user", text: "Please go on." }

/** Omits blank messages, which vendors reject. Instructions without messages become a user turn. */
export const toAlternatingTurns = (messages: ReadonlyArray<ChatMessage>): AlternatingTurns => {
  const instructions: Array<string> = []
  const unmerged: Array<AlternatingTurn> = []
  for (const message of toVendorConversation(messages)) {
    if (message.role === "assistant" && message.calls.length > 0) {
      unmerged.push(
        { role: "assistant", text: isBlankText(message.text) ? "" : message.text, calls: message.calls },
        { role: "user", text: "", results: message.calls }
      )
    } else if (message.role === "user" && message.parts !== undefined) {
      unmerged.push({ role: "user", text: message.text, parts: message.parts.filter(hasContent) })
    } else if (!isBlankText(message.text)) {
      if (message.role === "system") instructions.push(message.text)
      else unmerged.push({ role: message.role, text: message.text })
    }
  }
  const system = instructions.length === 0 ? null : instructions.join("\n\n")
  const turns = mergeNeighbors(unmerged)
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
