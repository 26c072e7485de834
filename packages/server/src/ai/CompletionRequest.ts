import { parseResponseFormat } from "@berth/api/ai/ChatContent"
import type { CompletionMessage, OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import { extractText, makeUserMessage } from "@berth/api/ai/ChatMessageMapping"
import type { ChatRequest } from "@berth/domain/ai/calls/ChatRequest"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { Either } from "effect"

type Message = typeof CompletionMessage.Type

/** Indexes tool names by call id. */
const toolNames = (messages: ReadonlyArray<Message>): ReadonlyMap<string, string> =>
  new Map(
    messages.flatMap((message) =>
      message.role === "assistant"
        ? (message.tool_calls ?? []).map((call) => [call.id, call.function.name] as const)
        : []
    )
  )

const readAssistantText = ({ content, refusal }: Extract<Message, { role: "assistant" }>): string => {
  if (content === undefined) return refusal ?? ""
  if (typeof content === "string") return content
  return content.map((part) => (part.type === "text" ? part.text : part.refusal)).join("\n")
}

const messageOf =
  (names: ReadonlyMap<string, string>) =>
  (message: Message): ChatMessage => {
    switch (message.role) {
      case "system":
      case "developer":
        return { role: "system", content: extractText(message.content) }
      case "user":
        return makeUserMessage(message.content)
      case "assistant": {
        const content = readAssistantText(message)
        const calls = message.tool_calls ?? []
        return calls.length === 0
          ? { role: "assistant", content }
          : {
              role: "assistant",
              content,
              toolCalls: calls.map((call) => ({
                id: call.id,
                name: call.function.name,
                arguments: call.function.arguments
              }))
            }
      }
      case "tool":
        return {
          role: "tool",
          content: extractText(message.content),
          toolCallId: message.tool_call_id,
          toolName: names.get(message.tool_call_id) ?? "a tool"
        }
    }
  }

const usesTools = (payload: OpenAiCompletionPayload) => (payload.tools?.length ?? 0) > 0

/** Returns the first unsupported parameter. */
export const findUnsupportedParameter = (payload: OpenAiCompletionPayload): ParameterUnsupported | null => {
  const refuse = (parameter: string, reason: string) => new ParameterUnsupported({ parameter, reason })
  const { modalities, n, tool_choice } = payload
  if (n !== undefined && n !== 1) return refuse("n", "only one answer is given at a time")
  if (payload.logprobs === true || payload.top_logprobs !== undefined) {
    return refuse(payload.logprobs === true ? "logprobs" : "top_logprobs", "log probabilities are not supported")
  }
  if (Object.keys(payload.logit_bias ?? {}).length > 0) return refuse("logit_bias", "cannot be set")
  if (payload.audio !== undefined) return refuse("audio", "answers are texts")
  if (modalities?.some((modality) => modality !== "text") === true) return refuse("modalities", "answers are texts")
  if (payload.functions !== undefined) return refuse("functions", "use tools in its place")
  if (payload.function_call !== undefined) return refuse("function_call", "use tool_choice in its place")
  if (payload.reasoning_effort !== undefined) return refuse("reasoning_effort", "cannot be set")
  if (payload.verbosity !== undefined) return refuse("verbosity", "cannot be set")
  if (payload.web_search_options !== undefined) return refuse("web_search_options", "the web is not searched")
  if (tool_choice !== undefined && tool_choice !== "none" && tool_choice !== "auto") {
    if (!usesTools(payload)) return refuse("tool_choice", "needs tools")
    if (
      typeof tool_choice === "object" &&
      payload.tools?.every((tool) => tool.function.name !== tool_choice.function.name) === true
    ) {
      return refuse("tool_choice", "names a tool that is not among tools")
    }
  }
  return null
}

const optionsOf = (payload: OpenAiCompletionPayload): ChatOptions => {
  const { stop, tool_choice: choice } = payload
  return {
    tools: payload.tools?.map(({ function: { description, name, parameters } }) => ({
      name,
      description: description ?? "",
      parameters: parameters ?? {}
    })),
    toolChoice: typeof choice === "object" ? { name: choice.function.name } : choice,
    parallelToolCalls: payload.parallel_tool_calls,
    responseFormat: parseResponseFormat(payload.response_format),
    temperature: payload.temperature,
    topP: payload.top_p,
    maxTokens: payload.max_completion_tokens ?? payload.max_tokens,
    stop: typeof stop === "string" ? [stop] : stop,
    seed: payload.seed,
    frequencyPenalty: payload.frequency_penalty,
    presencePenalty: payload.presence_penalty
  }
}

export const readCompletion = (payload: OpenAiCompletionPayload): Either.Either<ChatRequest, ParameterUnsupported> => {
  const refusal = findUnsupportedParameter(payload)
  return refusal === null
    ? Either.right({
        messages: payload.messages.map(messageOf(toolNames(payload.messages))),
        model: payload.model,
        options: optionsOf(payload),
        unknownModel: "refuse",
        caller: { userId: null, agentId: null }
      })
    : Either.left(refusal)
}
