import type { OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import { ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import type { ResponseItem, ResponsePayload } from "@berth/api/ai/ResponsesApi"
import { Array as Arr, Either } from "effect"

type CompletionMessage = OpenAiCompletionPayload["messages"][number]
type AssistantMessage = Extract<CompletionMessage, { role: "assistant" }>
type ItemMessage = Extract<ResponseItem, { content: unknown }>
type Part = Exclude<ItemMessage["content"], string>[number]

const toPart = (part: Extract<Part, { type: "input_text" | "output_text" | "input_image" }>) =>
  part.type === "input_image"
    ? { type: "image_url" as const, image_url: { url: part.image_url, detail: part.detail } }
    : { type: "text" as const, text: part.text }
const toText = ({ text }: { readonly text: string }) => ({ type: "text" as const, text })

const toMessage = (item: ItemMessage): CompletionMessage => {
  if (typeof item.content === "string") return { role: item.role, content: item.content }
  switch (item.role) {
    case "system":
    case "developer":
      return { role: item.role, content: Arr.map(item.content, toText) }
    case "user":
      return { role: item.role, content: Arr.map(item.content, toPart) }
    case "assistant":
      return {
        role: item.role,
        content: Arr.map(item.content, (part) => (part.type === "refusal" ? part : toText(part)))
      }
  }
}

/**
 * Mutates `messages`, since a conversation can have thousands of items. Consecutive calls of an answer become one
 * message.
 */
const addItem = (messages: Array<CompletionMessage>, item: ResponseItem): void => {
  if (item.type === "function_call") {
    const { arguments: text, call_id, name } = item
    const call = { id: call_id, type: "function" as const, function: { name, arguments: text } }
    const last = messages.at(-1)
    const answer: AssistantMessage = last?.role === "assistant" ? last : { role: "assistant" }
    const at = last?.role === "assistant" ? messages.length - 1 : messages.length
    messages[at] = { ...answer, tool_calls: [...(answer.tool_calls ?? []), call] }
    return
  }
  if (item.type === "function_call_output") {
    const { call_id, output } = item
    const content = typeof output === "string" ? output : output.map(({ text }) => text).join("\n")
    messages.push({ role: "tool", tool_call_id: call_id, content })
    return
  }
  messages.push(toMessage(item))
}

const toFormat = (text: ResponsePayload["text"]): OpenAiCompletionPayload["response_format"] => {
  const format = text?.format
  if (format?.type !== "json_schema") return format
  const { type, ...json_schema } = format
  return { type, json_schema }
}

const findUnsupportedParameter = (payload: ResponsePayload): ParameterUnsupported | null => {
  const refuse = (parameter: string, reason: string) => new ParameterUnsupported({ parameter, reason })
  if (payload.background === true) return refuse("background", "answers are given at once")
  if (payload.conversation !== undefined) return refuse("conversation", "use previous_response_id in its place")
  if (payload.prompt !== undefined) return refuse("prompt", "there are no stored prompts; send instructions")
  if (Object.values(payload.reasoning ?? {}).some((value) => value !== null))
    return refuse("reasoning", "cannot be set")
  if (payload.truncation !== undefined && payload.truncation !== "disabled")
    return refuse("truncation", "earlier items are not left out; use disabled")
  if (payload.max_tool_calls !== undefined) return refuse("max_tool_calls", "the caller runs all tools")
  if (payload.text?.verbosity !== undefined) return refuse("text.verbosity", "cannot be set")
  if (payload.include?.includes("message.output_text.logprobs") === true)
    return refuse("include", "log probabilities are not supported")
  if (payload.top_logprobs !== undefined) return refuse("top_logprobs", "log probabilities are not supported")
  return null
}

/** Converts a request of the Responses protocol with all its items to a chat completion. Pure. */
export const toCompletionPayload = (
  payload: ResponsePayload,
  items: ReadonlyArray<ResponseItem>
): Either.Either<OpenAiCompletionPayload, ParameterUnsupported> => {
  const refusal = findUnsupportedParameter(payload)
  if (refusal !== null) return Either.left(refusal)
  const { instructions, tool_choice: choice } = payload
  const messages: Array<CompletionMessage> =
    instructions === undefined ? [] : [{ role: "developer", content: instructions }]
  for (const item of items) addItem(messages, item)
  if (!Arr.isNonEmptyReadonlyArray(messages))
    return Either.left(new ParameterUnsupported({ parameter: "input", reason: "needs an item" }))
  return Either.right({
    model: payload.model,
    messages,
    stream: payload.stream,
    tools: payload.tools?.map(({ description, name, parameters }) => ({
      type: "function" as const,
      function: { name, description, parameters }
    })),
    tool_choice: typeof choice === "object" ? { type: "function", function: { name: choice.name } } : choice,
    parallel_tool_calls: payload.parallel_tool_calls,
    response_format: toFormat(payload.text),
    temperature: payload.temperature,
    top_p: payload.top_p,
    max_completion_tokens: payload.max_output_tokens
  })
}

type Input = Exclude<ResponsePayload["input"], string>

/** Returns the items of the input; a text becomes a user message. */
export const readItems = ({ input }: ResponsePayload): Input =>
  typeof input === "string" ? [{ role: "user", content: input }] : input

const hasContent = (item: Input[number]): item is ResponseItem => item.type !== "item_reference"

/** Converts the request for an agent, which stores the conversation itself. */
export const toAgentPayload = (
  payload: ResponsePayload
): Either.Either<OpenAiCompletionPayload, ParameterUnsupported> => {
  const refuse = (parameter: string, reason: string) => Either.left(new ParameterUnsupported({ parameter, reason }))
  const format = payload.text?.format
  if (payload.previous_response_id !== undefined)
    return refuse("previous_response_id", "an agent keeps its conversation, which the header X-Session-Id names")
  if (format !== undefined && format.type !== "text") return refuse("text.format", "an agent answers in text")
  return toCompletionPayload(payload, readItems(payload).filter(hasContent))
}
