import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { isBlankText, toAlternatingTurns, type AlternatingTurn } from "../vendor/AlternatingTurns.ts"
import { normalizeToolParameters } from "../vendor/VendorConversation.ts"
import { toAnthropicModelName } from "./AnthropicModelName.ts"
import type { AnthropicBody, AnthropicUserBlock } from "./AnthropicBodies.ts"

// This protocol requires a limit; every model since the fourth generation accepts this one.
const defaultMaxTokens = 32_000

/** Maximum tokens; old models reject a higher limit. */
const maximumAnswerTokens = (model: string): number => {
  if (/^claude-3-[a-z]/.test(model)) return 4_096
  return model.startsWith("claude-3-5-") ? 8_192 : Number.POSITIVE_INFINITY
}

// Models after 4.6 reject sampling options.
const acceptsSamplingOptions = (model: string) => /^claude-(3-|[a-z]+-4(-[0-6])?(-\d{8})?$)/.test(model)

/** Anthropic accepts only one of the two, and a temperature of at most 1. */
const samplingOf = (
  model: string,
  { temperature, topP }: ChatOptions
): Pick<AnthropicBody, "temperature" | "top_p"> => {
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

const messageOf = (turn: AlternatingTurn): AnthropicBody["messages"][number] => {
  if (turn.role === "user") {
    const { parts, results = [], text } = turn
    return {
      role: "user",
      content:
        results.length === 0 && parts === undefined
          ? text
          : [
              // Results must precede text.
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
): Pick<AnthropicBody, "tool_choice"> => {
  const limit = parallel === undefined ? {} : { disable_parallel_tool_use: !parallel }
  if (choice === undefined) return parallel === undefined ? {} : { tool_choice: { type: "auto", ...limit } }
  if (typeof choice === "object") return { tool_choice: { type: "tool", name: choice.name, ...limit } }
  return {
    tool_choice: choice === "none" ? { type: "none" } : { type: choice === "required" ? "any" : "auto", ...limit }
  }
}

// This protocol has no JSON mode.
const jsonOnlyInstruction = "Answer with one valid JSON object and nothing else: no words around it, no code fence."

/** Tools called in the conversation must be declared, even if none is offered. */
const toolsOf = (
  { parallelToolCalls, toolChoice, tools }: ChatOptions,
  turns: ReadonlyArray<AlternatingTurn>
): Pick<AnthropicBody, "tools" | "tool_choice"> => {
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

/** Makes a request; omits or adapts what the model rejects. */
export const makeAnthropicRequest = (
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): AnthropicBody => {
  const model = toAnthropicModelName(modelId)
  const { system: instructions, turns } = toAlternatingTurns(messages)
  const { responseFormat: format, stop = [] } = options
  const system =
    format?.type === "json-object"
      ? [instructions, jsonOnlyInstruction].filter((text) => text !== null).join("\n\n")
      : instructions
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
