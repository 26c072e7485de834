import type { ContentPart, ImageSource } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import {
  type CompletedToolCall,
  normalizeToolParameters,
  toVendorConversation,
  type VendorMessage
} from "../vendor/VendorConversation.ts"
import type { OpenAiBody, OpenAiMessageBody, OpenAiPartBody } from "./OpenAiBodies.ts"
import { type OpenAiCompatibleProvider, toOpenAiModelName } from "./OpenAiModelName.ts"
import { restoreReasoning } from "./OpenRouterReasoning.ts"

// Since the o series the limit includes reasoning and has a new name; the old name is rejected.
const takesCompletionTokens = (model: string) => /^(o\d|gpt-[5-9])/.test(model)

/** Reasoning models reject sampling options; chat variants do not reason. */
const ignoresSamplingOptions = (model: string) => takesCompletionTokens(model) && !model.includes("chat")

/** OpenAI's models limit the length of call ids at every provider. */
const maximumCallIdLength = (provider: OpenAiCompatibleProvider, modelId: string) =>
  provider === "openai" || modelId.startsWith("openai/") ? 40 : undefined

const callOf = ({ id, input, name }: CompletedToolCall) => ({
  id,
  type: "function" as const,
  function: { name, arguments: JSON.stringify(input) }
})

const toImageUrl = (source: ImageSource): string =>
  source.type === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`

const partOf = (part: ContentPart): OpenAiPartBody =>
  part.type === "text"
    ? part
    : {
        type: "image_url",
        image_url: { url: toImageUrl(part.source), ...(part.detail === undefined ? {} : { detail: part.detail }) }
      }

const messagesOf =
  (provider: OpenAiCompatibleProvider, modelId: string) =>
  (message: VendorMessage): ReadonlyArray<OpenAiMessageBody> => {
    if (message.role === "system") return [{ role: "system", content: message.text }]
    if (message.role === "user") return [{ role: "user", content: message.parts?.map(partOf) ?? message.text }]
    if (message.calls.length === 0) return [{ role: "assistant", content: message.text }]
    const reasoning = provider === "openrouter" ? restoreReasoning(modelId, message.calls) : []
    return [
      {
        role: "assistant",
        content: message.text === "" ? null : message.text,
        tool_calls: message.calls.map(callOf),
        ...(reasoning.length === 0 ? {} : { reasoning_details: reasoning })
      },
      ...message.calls.map(({ id, result }) => ({ role: "tool" as const, tool_call_id: id, content: result }))
    ]
  }

const toolsOf = ({ parallelToolCalls, toolChoice, tools = [] }: ChatOptions): Partial<OpenAiBody> =>
  tools.length === 0
    ? {}
    : {
        tools: tools.map(({ description, name, parameters }) => ({
          type: "function" as const,
          function: { name, description, parameters: normalizeToolParameters(parameters) }
        })),
        ...(toolChoice === undefined
          ? {}
          : { tool_choice: typeof toolChoice === "string" ? toolChoice : { type: "function", function: toolChoice } }),
        ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls })
      }

const formatOf = ({ responseFormat: format }: ChatOptions): Pick<OpenAiBody, "response_format"> => {
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

const samplingOf = ({ frequencyPenalty, presencePenalty, temperature, topP }: ChatOptions): Partial<OpenAiBody> => ({
  ...(temperature === undefined ? {} : { temperature }),
  ...(topP === undefined ? {} : { top_p: topP }),
  ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty }),
  ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty })
})

/** Makes a request; omits or adapts what OpenAI's models reject. */
export const makeOpenAiRequest = (
  provider: OpenAiCompatibleProvider,
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): OpenAiBody => {
  const model = toOpenAiModelName(provider, modelId)
  const isStrict = provider === "openai"
  const { maxTokens, seed, stop = [] } = options
  return {
    model,
    messages: toVendorConversation(messages, maximumCallIdLength(provider, modelId)).flatMap(
      messagesOf(provider, modelId)
    ),
    ...toolsOf(options),
    ...formatOf(options),
    stream: true,
    stream_options: { include_usage: true },
    ...(isStrict && ignoresSamplingOptions(model) ? {} : samplingOf(options)),
    ...(stop.length === 0 ? {} : { stop }),
    ...(seed === undefined ? {} : { seed }),
    ...(maxTokens === undefined
      ? {}
      : isStrict && takesCompletionTokens(model)
        ? { max_completion_tokens: maxTokens }
        : { max_tokens: maxTokens })
  }
}
