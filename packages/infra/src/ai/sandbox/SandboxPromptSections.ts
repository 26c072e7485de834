import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"

const knownHeading = "What you know from earlier:"
const earlierHeading = "Earlier in this conversation:"

/** Returns the list items below a heading of the instructions, up to the next empty line. */
const readPromptSection = (messages: ReadonlyArray<ChatMessage>, heading: string): ReadonlyArray<string> =>
  messages.flatMap(({ content, role }) => {
    if (role !== "system") return []
    const lines = content.split("\n").map((line) => line.trim())
    const at = lines.indexOf(heading)
    if (at < 0) return []
    const rest = lines.slice(at + 1)
    const end = rest.findIndex((line, index) => line === "" && index > 0)
    return (end < 0 ? rest : rest.slice(0, end))
      .map((line) => line.replace(/^[-*\u2022]\s+/, ""))
      .filter((line) => line !== "")
  })

/** Returns the memories in the instructions, the most relevant first. */
export const readPromptMemories = (messages: ReadonlyArray<ChatMessage>) => readPromptSection(messages, knownHeading)

/** Returns the summary of the conversation in the instructions. */
export const readPromptSummary = (messages: ReadonlyArray<ChatMessage>) => readPromptSection(messages, earlierHeading)
