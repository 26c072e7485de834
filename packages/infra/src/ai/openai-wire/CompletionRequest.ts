import type { ProviderName } from "@berth/domain/ai/Model"
import { nameOf } from "@berth/domain/ai/ModelRoutes"
import type { ContentPart } from "@berth/domain/ai/ContentPart"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/ModelChat"
import { parametersOf } from "../wire/ToolParameters.ts"
import { readConversation, type AnsweredCall, type Said } from "../wire/Conversation.ts"
import { addressOf } from "../wire/Images.ts"
import type { CompletionBody, MessageBody, PartBody } from "./WireBodies.ts"
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

const partOf = (part: ContentPart): PartBody =>
  part.type === "text"
    ? part
    : {
        type: "image_url",
        image_url: { url: addressOf(part.source), ...(part.detail === undefined ? {} : { detail: part.detail }) }
      }

const messagesOf =
  (provider: OpenAiWireName, modelId: string) =>
  (said: Said): ReadonlyArray<MessageBody> => {
    if (said.role === "system") return [{ role: "system", content: said.text }]
    if (said.role === "user") return [{ role: "user", content: said.parts?.map(partOf) ?? said.text }]
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

const toolsOf = ({ parallelToolCalls, toolChoice, tools = [] }: ChatOptions): Partial<CompletionBody> =>
  tools.length === 0
    ? {}
    : {
        tools: tools.map(({ description, name, parameters }) => ({
          type: "function" as const,
          function: { name, description, parameters: parametersOf(parameters) }
        })),
        ...(toolChoice === undefined
          ? {}
          : { tool_choice: typeof toolChoice === "string" ? toolChoice : { type: "function", function: toolChoice } }),
        ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls })
      }

const formatOf = ({ responseFormat: format }: ChatOptions): Pick<CompletionBody, "response_format"> => {
  if (format === undefined) return {}
  if (format.type === "json-object") return { response_format: { type: "json_object" } }
  const { description, name, schema, strict } = format
  return {
    response_format: {
      type: "json_schema",
      json_schema: {
        name,
        ...(description === undefined ? {} : { description }),
        schema,
        ...(strict === undefined ? {} : { strict })
      }
    }
  }
}

/** How to sample, where the model lets one. */
const samplingOf = ({
  frequencyPenalty,
  presencePenalty,
  temperature,
  topP
}: ChatOptions): Partial<CompletionBody> => ({
  ...(temperature === undefined ? {} : { temperature }),
  ...(topP === undefined ? {} : { top_p: topP }),
  ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty }),
  ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty })
})

/** The body of a call. What a model of OpenAI's own would refuse is left out or written as it wants. */
export const completionRequest = (
  provider: OpenAiWireName,
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): CompletionBody => {
  const model = wireModel(provider, modelId)
  const isStrict = provider === "openai"
  const { maxTokens, seed, stop = [] } = options
  return {
    model,
    messages: readConversation(messages, longestIdOf(provider, modelId)).flatMap(messagesOf(provider, modelId)),
    ...toolsOf(options),
    ...formatOf(options),
    stream: true,
    stream_options: { include_usage: true },
    ...(isStrict && samplesItsOwnWay(model) ? {} : samplingOf(options)),
    ...(stop.length === 0 ? {} : { stop }),
    ...(seed === undefined ? {} : { seed }),
    ...(maxTokens === undefined
      ? {}
      : isStrict && takesCompletionTokens(model)
        ? { max_completion_tokens: maxTokens }
        : { max_tokens: maxTokens })
  }
}
