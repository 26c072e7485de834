import type { ProviderName } from "@berth/domain/ai/models/Model"
import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"
import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { normalizeToolParameters } from "../vendor/ToolParameters.ts"
import { toVendorConversation, type CompletedToolCall, type VendorMessage } from "../vendor/VendorConversation.ts"
import { toImageUrl } from "../vendor/ImageUrl.ts"
import type { OpenAiCompletionBody, OpenAiMessageBody, OpenAiPartBody } from "./OpenAiBodies.ts"
import { restoreReasoning } from "./OpenRouterReasoning.ts"

/** The providers that speak this wire. */
export type OpenAiCompatibleProvider = Extract<ProviderName, "openrouter" | "openai" | "groq">

/** OpenRouter writes Anthropic's versions with a dot (claude-opus-4.6), Anthropic and this catalogue with a dash. */
export const toOpenRouterModelId = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? modelId.replace(/-(\d)-(\d)(?=$|[-:])/, "-$1.$2") : modelId

/** The reverse of `openRouterId`. */
export const fromOpenRouterModelId = (openRouterModelId: string): string =>
  openRouterModelId.startsWith("anthropic/")
    ? openRouterModelId.replace(/-(\d)\.(\d)(?=$|[-:])/, "-$1-$2")
    : openRouterModelId

/** A model's id as the provider wants it: OpenRouter takes the vendor with it, the others only know their own. */
export const toOpenAiModelName = (provider: OpenAiCompatibleProvider, modelId: string): string => {
  if (provider === "openrouter") return toOpenRouterModelId(modelId)
  return modelId.startsWith(`${provider}/`) ? parseModelName(modelId) : modelId
}

// Since the o series OpenAI counts what a model thinks towards the limit, under a new name, and refuses the old one.
const takesCompletionTokens = (model: string) => /^(o\d|gpt-[5-9])/.test(model)

/** Models that think sample in their own way and refuse to be told how; the chat ones among them do not think. */
const ignoresSamplingOptions = (model: string) => takesCompletionTokens(model) && !model.includes("chat")

/** The longest name of a call, where there is a limit of its own: OpenAI's models have one wherever they are. */
const maximumCallIdLength = (provider: OpenAiCompatibleProvider, modelId: string) =>
  provider === "openai" || modelId.startsWith("openai/") ? 40 : undefined

const callOf = ({ id, input, name }: CompletedToolCall) => ({
  id,
  type: "function" as const,
  function: { name, arguments: JSON.stringify(input) }
})

const partOf = (part: ContentPart): OpenAiPartBody =>
  part.type === "text"
    ? part
    : {
        type: "image_url",
        image_url: { url: toImageUrl(part.source), ...(part.detail === undefined ? {} : { detail: part.detail }) }
      }

const messagesOf =
  (provider: OpenAiCompatibleProvider, modelId: string) =>
  (said: VendorMessage): ReadonlyArray<OpenAiMessageBody> => {
    if (said.role === "system") return [{ role: "system", content: said.text }]
    if (said.role === "user") return [{ role: "user", content: said.parts?.map(partOf) ?? said.text }]
    if (said.calls.length === 0) return [{ role: "assistant", content: said.text }]
    const reasoning = provider === "openrouter" ? restoreReasoning(modelId, said.calls) : []
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

const toolsOf = ({ parallelToolCalls, toolChoice, tools = [] }: ChatOptions): Partial<OpenAiCompletionBody> =>
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

const formatOf = ({ responseFormat: format }: ChatOptions): Pick<OpenAiCompletionBody, "response_format"> => {
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
}: ChatOptions): Partial<OpenAiCompletionBody> => ({
  ...(temperature === undefined ? {} : { temperature }),
  ...(topP === undefined ? {} : { top_p: topP }),
  ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty }),
  ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty })
})

/** The body of a call. What a model of OpenAI's own would refuse is left out or written as it wants. */
export const makeCompletionRequest = (
  provider: OpenAiCompatibleProvider,
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): OpenAiCompletionBody => {
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
