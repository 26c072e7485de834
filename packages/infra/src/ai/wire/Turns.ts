import type { ChatMessage } from "@berth/domain/ai/ModelChat"

export interface Turn {
  readonly role: "user" | "assistant"
  /** Never blank. */
  readonly text: string
}

/** A conversation as vendors want it who take turns: instructions apart, then user and assistant by turns. */
export interface Turns {
  readonly system: string | null
  /** Begins and ends with the user; empty where nobody says anything. */
  readonly turns: ReadonlyArray<Turn>
}

const isBlank = (text: string) => text.trim() === ""

const mergeNeighbours = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const merged: Array<Turn> = []
  for (const { role, text } of turns) {
    const last = merged.at(-1)
    if (last?.role === role) merged[merged.length - 1] = { role, text: `${last.text}\n\n${text}` }
    else merged.push({ role, text })
  }
  return merged
}

// An agent may greet first, and be asked again after its last word; both are refused without a user's turn around them.
const opening: Turn = { role: "user", text: "Hello." }
const goOn: Turn = { role: "user", text: "Please go on." }

/**
 * The turns of a conversation. Blank messages, which are refused, are left out; instructions with nothing else are said
 * by the user.
 */
export const readTurns = (messages: ReadonlyArray<ChatMessage>): Turns => {
  const said = messages.filter(({ content }) => !isBlank(content))
  const instructions = said.filter(({ role }) => role === "system").map(({ content }) => content)
  const system = instructions.length === 0 ? null : instructions.join("\n\n")
  const turns = mergeNeighbours(
    said.flatMap(({ content, role }) => (role === "system" || role === "tool" ? [] : [{ role, text: content }]))
  )
  if (turns.length === 0) return { system: null, turns: system === null ? [] : [{ role: "user", text: system }] }
  return {
    system,
    turns: [
      ...(turns[0]?.role === "assistant" ? [opening] : []),
      ...turns,
      ...(turns.at(-1)?.role === "assistant" ? [goOn] : [])
    ]
  }
}
