import type { ChatMessage, ToolSpec } from "@berth/domain/ai/ModelChat"
import { lastSaid, thingAsked, thingTold } from "./SandboxReply.ts"

interface Wanted {
  readonly tool: string
  readonly arguments: Readonly<Record<string, string>>
}

interface Habit {
  readonly tool: string
  readonly asked: RegExp
  /** The arguments in what the pattern found; null where that is not meant after all. */
  readonly arguments: (found: RegExpExecArray) => Readonly<Record<string, string>> | null
  /** How an answer begins that ends with what the tool gave; null where that says itself whether it was done. */
  readonly lead: string | null
}

const part = (found: RegExpExecArray, name: string) => found.groups?.[name]?.trim() ?? ""

/** When the sandbox model uses a tool, if that is on offer. The first that fits counts. */
const habits: ReadonlyArray<Habit> = [
  {
    tool: "current_time",
    asked:
      /\b(?:what time is it|what(?:['’]s| is) the (?:current )?time|current time)(?:\s+(?:now\s+)?in\s+(?<timezone>[A-Za-z_+-]+(?:\/[A-Za-z_+-]+)*(?:[+-]\d+)?))?/i,
    arguments: (found): Readonly<Record<string, string>> => {
      const timezone = part(found, "timezone")
      return timezone === "" ? {} : { timezone }
    },
    lead: "The time"
  },
  {
    tool: "fetch_web_page",
    asked: /\b(?:fetch|open|read|get)\s+(?:the\s+(?:web\s*)?page\s+)?(?<url>https?:\/\/\S*[^\s.,;:!?)'"])/i,
    arguments: (found) => ({ url: part(found, "url") }),
    lead: "The page says"
  },
  {
    tool: "calculate",
    asked: /\b(?:calculate|compute)\s+(?<expression>.+?)[.!?=]*$/i,
    arguments: (found) => ({ expression: part(found, "expression") }),
    lead: "The result"
  },
  {
    tool: "calculate",
    asked: /\b(?:what(?:['’]s| is)|how much is)\s+(?<expression>[-+(]*\d[-\d+*/%^().,\s]*)[?!=]*$/i,
    arguments: (found) => {
      const expression = part(found, "expression").replace(/[.,]$/, "")
      return /\d.*[-+*/%^].*\d/.test(expression) ? { expression } : null
    },
    lead: "The result"
  },
  {
    tool: "recall",
    asked: new RegExp(`(?:${thingAsked.source})(?:\\s+(?:about|of)\\s+(?<query>.+?))?[?.!]*$`, "i"),
    // Without a subject the question itself is all there is to look for.
    arguments: (found) => ({ query: part(found, "query") || found[0].replace(/[?.!]+$/, "") }),
    lead: "What I remember"
  },
  {
    tool: "remember",
    asked: thingTold,
    // Asked what it remembers, it has nothing new to remember.
    arguments: (found) => (thingAsked.test(found.input) ? null : { text: found[1]?.trim() ?? "" }),
    lead: null
  },
  { tool: "list_files", asked: /\blist (?:my |the |all )*files\b/i, arguments: () => ({}), lead: "Your files" },
  {
    tool: "write_file",
    asked: /\bwrite (?:the |a )?file\s+(?<path>[^\s:]+)\s*:\s*(?<content>[\s\S]+)$/i,
    arguments: (found) => ({ path: part(found, "path"), content: part(found, "content") }),
    lead: null
  },
  {
    tool: "read_file",
    asked: /\bread (?:the )?file\s+(?<path>\S*[^\s.,;:!?])/i,
    arguments: (found) => ({ path: part(found, "path") }),
    lead: "The file says"
  },
  {
    tool: "delete_file",
    asked: /\bdelete (?:the )?file\s+(?<path>\S*[^\s.,;:!?])/i,
    arguments: (found) => ({ path: part(found, "path") }),
    lead: null
  }
]

// Nobody asks for a tool at greater length, but for writing a file.
const longestAsked = 2_000

/** The tool on offer that what the user said last asks for. */
const wantedTool = (messages: ReadonlyArray<ChatMessage>, tools: ReadonlyArray<ToolSpec>): Wanted | null => {
  const said = lastSaid(messages)
  for (const { arguments: read, asked, tool } of habits) {
    if (!tools.some(({ name }) => name === tool)) continue
    const found = asked.exec(tool === "write_file" ? said : said.slice(0, longestAsked))
    const given = found === null ? null : read(found)
    if (given !== null) return { tool, arguments: given }
  }
  return null
}

const longestResult = 2_000

/** What is said of a tool's result. */
const sentenceOf = ({ content, toolName }: Extract<ChatMessage, { role: "tool" }>): string => {
  const habit = habits.find(({ tool }) => tool === toolName)
  const lead = habit === undefined ? `${toolName} gave` : habit.lead
  const whole = content.trim()
  const result = whole.length > longestResult ? `${whole.slice(0, longestResult)}…` : whole
  return lead === null ? result : `${lead}: ${result}`
}

export type SandboxStep =
  | { readonly type: "call"; readonly tool: string; readonly arguments: string }
  | { readonly type: "text"; readonly text: string }

/** What the sandbox model does about tools: calls the one it is asked to use, then says what that gave; else nothing. */
export const sandboxToolStep = (
  messages: ReadonlyArray<ChatMessage>,
  tools: ReadonlyArray<ToolSpec>
): SandboxStep | null => {
  const given = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1)
  const results = given.flatMap((message) => (message.role === "tool" ? [sentenceOf(message)] : []))
  if (results.length > 0) return { type: "text", text: results.join("\n") }
  const wanted = wantedTool(messages, tools)
  return wanted === null ? null : { type: "call", tool: wanted.tool, arguments: JSON.stringify(wanted.arguments) }
}
