import type { ContentPart } from "@berth/domain/ai/ContentPart"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/ModelChat"
import { parametersOf } from "../wire/ToolParameters.ts"
import { isBlank, readTurns, type Turn } from "../wire/Turns.ts"
import { wireModel } from "./ModelName.ts"
import type { MessagesBody, UserBlock } from "./WireBodies.ts"

// Everywhere else an answer may be as long as the model can make it; here a limit must be said, and this one is below
// that of every model since the fourth generation.
const usualLimit = 32_000

/** The longest answer of a model, in tokens, where it is known to be short. More is refused. */
const longestAnswer = (model: string): number => {
  if (/^claude-3-[a-z]/.test(model)) return 4_096
  return model.startsWith("claude-3-5-") ? 8_192 : Number.POSITIVE_INFINITY
}

// Models after 4.6 sample in their own way and refuse to be told how.
const samplesAsTold = (model: string) => /^claude-(3-|[a-z]+-4(-[0-6])?(-\d{8})?$)/.test(model)

/** How to sample, where that can be said: as one of two numbers, and no hotter than 1. */
const samplingOf = (model: string, { temperature, topP }: ChatOptions): Pick<MessagesBody, "temperature" | "top_p"> => {
  if (!samplesAsTold(model)) return {}
  if (temperature !== undefined) return { temperature: Math.min(temperature, 1) }
  return topP === undefined ? {} : { top_p: topP }
}

const textIn = (text: string) => (isBlank(text) ? [] : [{ type: "text" as const, text }])

const blockOf = (part: ContentPart): UserBlock => {
  if (part.type === "text") return part
  const { source } = part
  return {
    type: "image",
    source: source.type === "url" ? source : { type: "base64", media_type: source.mediaType, data: source.data }
  }
}

const messageOf = (turn: Turn): MessagesBody["messages"][number] => {
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
const onlyJson = "Answer with one valid JSON object and nothing else: no words around it, no code fence."

/** The tools on offer. Those that were called must be told of as long as the calls are, though none may be used now. */
const toolsOf = (
  { parallelToolCalls, toolChoice, tools }: ChatOptions,
  turns: ReadonlyArray<Turn>
): Pick<MessagesBody, "tools" | "tool_choice"> => {
  if (tools !== undefined && tools.length > 0) {
    return {
      tools: tools.map(({ description, name, parameters }) => ({
        name,
        description,
        input_schema: parametersOf(parameters)
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
export const messagesRequest = (
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): MessagesBody => {
  const model = wireModel(modelId)
  const { system: said, turns } = readTurns(messages)
  const { responseFormat: format, stop = [] } = options
  const system = format?.type === "json-object" ? [said, onlyJson].filter((text) => text !== null).join("\n\n") : said
  return {
    model,
    max_tokens: Math.min(options.maxTokens ?? usualLimit, longestAnswer(model)),
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
