import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { statesFact } from "./SandboxReply.ts"
import { readPromptSummary } from "./SandboxPromptSections.ts"

/** Prefix of instructions that request a summary. */
const summaryRequestPrefix = "Summarize the conversation"

const longestStatement = 200
const longestSummary = 2_000

const heading = "The user said:"

/** A conversation as text has the speaker before each line. */
const speakerLinePattern = /^(?:user|human)\s*:\s*(.*)$/i

const statementsIn = (content: string): ReadonlyArray<string> => {
  const lines = content.split("\n").flatMap((line) => speakerLinePattern.exec(line.trim())?.[1] ?? [])
  return lines.length > 0 ? lines : [content]
}

const shorten = (statement: string) => {
  const line = statement.replace(/\s+/g, " ").trim()
  return line.length > longestStatement ? line.slice(0, longestStatement) : line
}

const previousSummaryLines = (messages: ReadonlyArray<ChatMessage>) =>
  readPromptSummary(messages)
    .map((line) => (line.startsWith(heading) ? line.slice(heading.length).trim() : line))
    .filter((line) => line !== "")

/**
 * Lists the user's messages in order. If space is limited, facts precede other messages, and new facts precede old
 * ones.
 */
const summarize = (messages: ReadonlyArray<ChatMessage>): string => {
  const newLines = messages.flatMap(({ content, role }) => (role === "user" ? statementsIn(content) : []))
  const statements = [
    ...new Set([...previousSummaryLines(messages), ...newLines].map(shorten).filter((line) => line !== ""))
  ]
  const selected = new Set<string>()
  let size = heading.length
  const select = (candidates: ReadonlyArray<string>) => {
    for (const statement of candidates) {
      const length = statement.length + "\n- ".length
      if (size + length > longestSummary) continue
      selected.add(statement)
      size += length
    }
  }
  const newestFirst = statements.toReversed()
  select(newestFirst.filter(statesFact))
  select(newestFirst.filter((statement) => !statesFact(statement)))
  return [heading, ...statements.filter((statement) => selected.has(statement)).map((line) => `- ${line}`)].join("\n")
}

/** Returns the requested summary; null if none is requested. */
export const makeSandboxSummary = (messages: ReadonlyArray<ChatMessage>): string | null =>
  messages.some(({ content, role }) => role === "system" && content.trimStart().startsWith(summaryRequestPrefix))
    ? summarize(messages)
    : null
