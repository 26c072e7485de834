import type { ChatMessage, ChatOptions, ToolChoice, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { findLastUserMessage, recallQuestionPattern, rememberRequestPattern } from "./SandboxReply.ts"

interface RequestedTool {
  readonly tool: string
  readonly arguments: Readonly<Record<string, string>>
}

interface ToolTrigger {
  readonly tool: string
  readonly pattern: RegExp
  /** Returns the arguments of a match; null rejects it. */
  readonly arguments: (match: RegExpExecArray) => Readonly<Record<string, string>> | null
  /** Prefix of the result in the reply; null for results that are sentences. */
  readonly resultPrefix: string | null
}

const groupOf = (match: RegExpExecArray, name: string) => match.groups?.[name]?.trim() ?? ""

/** The first matching trigger of an offered tool wins. */
const toolTriggers: ReadonlyArray<ToolTrigger> = [
  {
    tool: "current_time",
    pattern:
      /\b(?:what time is it|what(?:['\u2019]s| is) the (?:current )?time|current time)(?:\s+(?:now\s+)?in\s+(?<timezone>[A-Za-z_+-]+(?:\/[A-Za-z_+-]+)*(?:[+-]\d+)?))?/i,
    arguments: (match): Readonly<Record<string, string>> => {
      const timezone = groupOf(match, "timezone")
      return timezone === "" ? {} : { timezone }
    },
    resultPrefix: "The time"
  },
  {
    tool: "fetch_web_page",
    pattern: /\b(?:fetch|open|read|get)\s+(?:the\s+(?:web\s*)?page\s+)?(?<url>https?:\/\/\S*[^\s.,;:!?)'"])/i,
    arguments: (match) => ({ url: groupOf(match, "url") }),
    resultPrefix: "The page says"
  },
  {
    tool: "calculate",
    pattern: /\b(?:calculate|compute)\s+(?<expression>.+?)[.!?=]*$/i,
    arguments: (match) => ({ expression: groupOf(match, "expression") }),
    resultPrefix: "The result"
  },
  {
    tool: "calculate",
    pattern: /\b(?:what(?:['\u2019]s| is)|how much is)\s+(?<expression>[-+(]*\d[-\d+*/%^().,\s]*)[?!=]*$/i,
    arguments: (match) => {
      const expression = groupOf(match, "expression").replace(/[.,]$/, "")
      return /\d.*[-+*/%^].*\d/.test(expression) ? { expression } : null
    },
    resultPrefix: "The result"
  },
  {
    tool: "recall",
    pattern: new RegExp(`(?:${recallQuestionPattern.source})(?:\\s+(?:about|of)\\s+(?<query>.+?))?[?.!]*$`, "i"),
    // Without a subject, the question is the query.
    arguments: (match) => ({ query: groupOf(match, "query") || match[0].replace(/[?.!]+$/, "") }),
    resultPrefix: "What I remember"
  },
  {
    tool: "remember",
    pattern: rememberRequestPattern,
    // A question about memories does not request a new one.
    arguments: (match) => (recallQuestionPattern.test(match.input) ? null : { text: match[1]?.trim() ?? "" }),
    resultPrefix: null
  },
  {
    tool: "list_files",
    pattern: /\blist (?:my |the |all )*files\b/i,
    arguments: () => ({}),
    resultPrefix: "Your files"
  },
  {
    tool: "write_file",
    pattern: /\bwrite (?:the |a )?file\s+(?<path>[^\s:]+)\s*:\s*(?<content>[\s\S]+)$/i,
    arguments: (match) => ({ path: groupOf(match, "path"), content: groupOf(match, "content") }),
    resultPrefix: null
  },
  {
    tool: "read_file",
    pattern: /\bread (?:the )?file\s+(?<path>\S*[^\s.,;:!?])/i,
    arguments: (match) => ({ path: groupOf(match, "path") }),
    resultPrefix: "The file says"
  },
  {
    tool: "delete_file",
    pattern: /\bdelete (?:the )?file\s+(?<path>\S*[^\s.,;:!?])/i,
    arguments: (match) => ({ path: groupOf(match, "path") }),
    resultPrefix: null
  }
]

// Longer messages are searched only for files to write.
const maximumRequestLength = 2_000

const findRequestedTool = (
  messages: ReadonlyArray<ChatMessage>,
  tools: ReadonlyArray<ToolSpec>
): RequestedTool | null => {
  const message = findLastUserMessage(messages)
  for (const { arguments: read, pattern, tool } of toolTriggers) {
    if (!tools.some(({ name }) => name === tool)) continue
    const match = pattern.exec(tool === "write_file" ? message : message.slice(0, maximumRequestLength))
    const toolArguments = match === null ? null : read(match)
    if (toolArguments !== null) return { tool, arguments: toolArguments }
  }
  return null
}

const maximumResultLength = 2_000

const describeToolResult = ({ content, toolName }: Extract<ChatMessage, { role: "tool" }>): string => {
  const trigger = toolTriggers.find(({ tool }) => tool === toolName)
  const lead = trigger === undefined ? `${toolName} gave` : trigger.resultPrefix
  const whole = content.trim()
  const result = whole.length > maximumResultLength ? `${whole.slice(0, maximumResultLength)}…` : whole
  return lead === null ? result : `${lead}: ${result}`
}

type SandboxToolStep =
  | { readonly type: "call"; readonly tool: string; readonly arguments: string }
  | { readonly type: "text"; readonly text: string }

const listAllowedTools = (tools: ReadonlyArray<ToolSpec>, choice: ToolChoice): ReadonlyArray<ToolSpec> =>
  choice === "none" ? [] : typeof choice === "object" ? tools.filter(({ name }) => name === choice.name) : tools

/** Returns the tool of a choice that requires a call. */
const findRequiredTool = (tools: ReadonlyArray<ToolSpec>, choice: ToolChoice): RequestedTool | null =>
  tools[0] === undefined || choice === "auto" ? null : { tool: tools[0].name, arguments: {} }

/** Calls the requested or the required tool, then replies with its result; null if there is none. */
export const decideSandboxToolStep = (
  messages: ReadonlyArray<ChatMessage>,
  { toolChoice = "auto", tools = [] }: ChatOptions
): SandboxToolStep | null => {
  const trailing = messages.slice(messages.findLastIndex(({ role }) => role !== "tool") + 1)
  const results = trailing.flatMap((message) => (message.role === "tool" ? [describeToolResult(message)] : []))
  if (results.length > 0) return { type: "text", text: results.join("\n") }
  const allowed = listAllowedTools(tools, toolChoice)
  const requested = findRequestedTool(messages, allowed) ?? findRequiredTool(allowed, toolChoice)
  return requested === null
    ? null
    : { type: "call", tool: requested.tool, arguments: JSON.stringify(requested.arguments) }
}
