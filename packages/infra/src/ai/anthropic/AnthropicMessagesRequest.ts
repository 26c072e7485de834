import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { normalizeToolParameters } from "../vendor/ToolParameters.ts"
import { isBlankText, toAlternatingTurns, type AlternatingTurn } from "../vendor/AlternatingTurns.ts"
import { toAnthropicModelName } from "./AnthropicModelName.ts"
import type { MessagesBody, AnthropicUserBlock } from "./AnthropicBodies.ts"

// Everywhere else an answer may be as long as the model can make it; here a limit must be said, and this one is below
// that of every model since the fourth generation.
const defaultMaxTokens = 32_000

/** The longest answer of a model, in tokens, where it is known to be short. More is refused. */
const maximumAnswerTokens = (model: string): number => {
  if (/^claude-3-[a-z]/.test(model)) return 4_096
  return model.startsWith("claude-3-5-") ? 8_192 : Number.POSITIVE_INFINITY
}

// Models after 4.6 sample in their own way and refuse to be told how.
const acceptsSamplingOptions = (model: string) => /^claude-(3-|[a-z]+-4(-[0-6])?(-\d{8})?$)/.test(model)

/** How to sample, where that can be said: as one of two numbers, and no hotter than 1. */
const samplingOf = (model: string, { temperature, topP }: ChatOptions): Pick<MessagesBody, "temperature" | "top_p"> => {
  if (!acceptsSamplingOptions(model)) return {}
  if (temperature !== undefined) return { temperature: Math.min(temperature, 1) }
  return topP === undefined ? {} : { top_p: topP }
}

const textIn = (text: string) => (isBlankText(text) ? [] : [{ type: "text" as const, text }])

const blockOf = (part: ContentPart): AnthropicUserBlock => {
  if (part.type === "text") return part
  const { source } = part
  return {
    type: "image",
    source: source.type === "url" ? source : { type: "base64", media_type: source.mediaType, data: source.data }
  }
}

const messageOf = (turn: AlternatingTurn): MessagesBody["messages"][number] => {
  if (turn.role === "user") {
    const { parts, results = [], text } = turn
    return {
      role: "user",
      content:
        results.length === 0 && parts === undefined
          ? text
          : [
              // The results first: behind a text they are refused.
              ...results.map(({ id, result }) => ({ type: "tool_result" as const, tool_use_id: id, content: result })),
              ...(parts?.map(blockOf) ?? textIn(text))
            ]
    }
  }
  const { calls, text } = turn
  return {
    role: "assistant",
    content:
      calls === undefined
        ? text
        : [...textIn(text), ...calls.map(({ id, input, name }) => ({ type: "tool_use" as const, id, name, input }))]
  }
}

const choiceOf = (
  choice: ChatOptions["toolChoice"],
  parallel: ChatOptions["parallelToolCalls"]
): Pick<MessagesBody, "tool_choice"> => {
  const atOnce = parallel === undefined ? {} : { disable_parallel_tool_use: !parallel }
  if (choice === undefined) return parallel === undefined ? {} : { tool_choice: { type: "auto", ...atOnce } }
  if (typeof choice === "object") return { tool_choice: { type: "tool", name: choice.name, ...atOnce } }
  return {
    tool_choice: choice === "none" ? { type: "none" } : { type: choice === "required" ? "any" : "auto", ...atOnce }
  }
}

// There is no such mode on this wire, and most of what it does elsewhere is to tell the model.
const jsonOnlyInstruction = "Answer with one valid JSON object and nothing else: no words around it, no code fence."

/** The tools on offer. Those that were called must be told of as long as the calls are, though none may be used now. */
const toolsOf = (
  { parallelToolCalls, toolChoice, tools }: ChatOptions,
  turns: ReadonlyArray<AlternatingTurn>
): Pick<MessagesBody, "tools" | "tool_choice"> => {
  if (tools !== undefined && tools.length > 0) {
    return {
      tools: tools.map(({ description, name, parameters }) => ({
        name,
        description,
        input_schema: normalizeToolParameters(parameters)
      })),
      ...choiceOf(toolChoice, parallelToolCalls)
    }
  }
  const called = new Set(
    turns.flatMap((turn) => (turn.role === "assistant" ? (turn.calls ?? []) : [])).map(({ name }) => name)
  )
  return called.size === 0
    ? {}
    : { tools: [...called].map((name) => ({ name, input_schema: { type: "object" } })), tool_choice: { type: "none" } }
}

/** The body of a call. What the model would refuse is left out or written as it wants. */
export const makeMessagesRequest = (
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): MessagesBody => {
  const model = toAnthropicModelName(modelId)
  const { system: said, turns } = toAlternatingTurns(messages)
  const { responseFormat: format, stop = [] } = options
  const system =
    format?.type === "json-object" ? [said, jsonOnlyInstruction].filter((text) => text !== null).join("\n\n") : said
  return {
    model,
    max_tokens: Math.min(options.maxTokens ?? defaultMaxTokens, maximumAnswerTokens(model)),
    ...(system === null ? {} : { system }),
    messages: turns.map(messageOf),
    ...toolsOf(options, turns),
    ...(format?.type === "json-schema"
      ? { output_config: { format: { type: "json_schema", schema: format.schema } } }
      : {}),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    stream: true,
    ...samplingOf(model, options)
  }
}
