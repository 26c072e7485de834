import type { ProviderName } from "@berth/domain/ai/Model"
import { nameOf } from "@berth/domain/ai/ModelRoutes"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/ModelChat"
import type { CompletionBody } from "./WireBodies.ts"

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

/** The body of a call. What a model of OpenAI's own would refuse is left out or written as it wants. */
export const completionRequest = (
  provider: OpenAiWireName,
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  { maxTokens, temperature, topP }: ChatOptions
): CompletionBody => {
  const model = wireModel(provider, modelId)
  const isStrict = provider === "openai"
  const sampling = isStrict && samplesItsOwnWay(model) ? {} : { temperature, topP }
  return {
    model,
    messages: messages.map(({ content, role }) => ({ role, content })),
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
