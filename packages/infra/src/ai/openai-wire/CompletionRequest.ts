import type { ProviderName } from "@berth/domain/ai/Model"
import { nameOf } from "@berth/domain/ai/ModelRoutes"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/ModelChat"
import { parametersOf } from "../wire/ToolParameters.ts"
import { readConversation, type AnsweredCall, type Said } from "../wire/Conversation.ts"
import type { CompletionBody, MessageBody } from "./WireBodies.ts"
import { reasoningOf } from "./ReasoningDetails.ts"

/** The providers that speak this wire. */
export type OpenAiWireName = Extract<ProviderName, "openrouter" | "openai" | "groq">

/** OpenRouter writes Anthropic's versions with a dot (claude-opus-4.6), Anthropic and this catalogue with a dash. */
export const openRouterId = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? modelId.replace(/-(\d)-(\d)(?=$|[-:])/, "-$1.$2") : modelId

/** The reverse of `openRouterId`. */
export const catalogueId = (openRouterModelId: string): string =>
  openRouterModelId.startsWith("anthropic/")
    ? openRouterModelId.replace(/-(\d)\.(\d)(?=$|[-:])/, "-$1-$2")
    : openRouterModelId

/** A model's id as the provider wants it: OpenRouter takes the vendor with it, the others only know their own. */
export const wireModel = (provider: OpenAiWireName, modelId: string): string => {
  if (provider === "openrouter") return openRouterId(modelId)
  return modelId.startsWith(`${provider}/`) ? nameOf(modelId) : modelId
}

// Since the o series OpenAI counts what a model thinks towards the limit, under a new name, and refuses the old one.
const takesCompletionTokens = (model: string) => /^(o\d|gpt-[5-9])/.test(model)

/** Models that think sample in their own way and refuse to be told how; the chat ones among them do not think. */
const samplesItsOwnWay = (model: string) => takesCompletionTokens(model) && !model.includes("chat")

/** The longest name of a call, where there is a limit of its own: OpenAI's models have one wherever they are. */
const longestIdOf = (provider: OpenAiWireName, modelId: string) =>
  provider === "openai" || modelId.startsWith("openai/") ? 40 : undefined

const callOf = ({ id, input, name }: AnsweredCall) => ({
  id,
  type: "function" as const,
  function: { name, arguments: JSON.stringify(input) }
})

const messagesOf =
  (provider: OpenAiWireName, modelId: string) =>
  (said: Said): ReadonlyArray<MessageBody> => {
    if (said.role !== "assistant") return [{ role: said.role, content: said.text }]
    if (said.calls.length === 0) return [{ role: "assistant", content: said.text }]
    const reasoning = provider === "openrouter" ? reasoningOf(modelId, said.calls) : []
    return [
      {
        role: "assistant",
        content: said.text === "" ? null : said.text,
        tool_calls: said.calls.map(callOf),
        ...(reasoning.length === 0 ? {} : { reasoning_details: reasoning })
      },
      ...said.calls.map(({ id, result }) => ({ role: "tool" as const, tool_call_id: id, content: result }))
    ]
  }

/** The body of a call. What a model of OpenAI's own would refuse is left out or written as it wants. */
export const completionRequest = (
  provider: OpenAiWireName,
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  { maxTokens, temperature, tools = [], topP }: ChatOptions
): CompletionBody => {
  const model = wireModel(provider, modelId)
  const isStrict = provider === "openai"
  const sampling = isStrict && samplesItsOwnWay(model) ? {} : { temperature, topP }
  return {
    model,
    messages: readConversation(messages, longestIdOf(provider, modelId)).flatMap(messagesOf(provider, modelId)),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ description, name, parameters }) => ({
            type: "function" as const,
            function: { name, description, parameters: parametersOf(parameters) }
          }))
        }),
    stream: true,
    stream_options: { include_usage: true },
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
    ...(maxTokens === undefined
      ? {}
      : isStrict && takesCompletionTokens(model)
        ? { max_completion_tokens: maxTokens }
        : { max_tokens: maxTokens })
  }
}
