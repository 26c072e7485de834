import { type Effect, Predicate, type Scope } from "effect"
import {
  splitInHalf,
  type ReceivedModelRequest,
  type ModelVendor,
  makeFakeModelVendor,
  type FakeModelVendor
} from "./FakeModelVendor.ts"

export type { ModelBehavior, ReceivedModelRequest } from "./FakeModelVendor.ts"

export type FakeOpenAi = FakeModelVendor

interface FakeOpenAiOptions {
  readonly models?: ReadonlyArray<unknown>
  /** Whether GET /models is public, as OpenRouter's is. */
  readonly modelsArePublic?: boolean
  /** Whether there is a GET /key, as OpenRouter has. */
  readonly hasKeyPath?: boolean
  /** Whether tool calls require their preceding reasoning, as OpenRouter does for Gemini. */
  readonly wantsReasoning?: (model: string) => boolean
}

const apiKey = "sk-fake-5f2c9e"
/** An owner's key, accepted as well. */
export const ownerKey = "sk-owner-fake-71b4"

const openAiModels = ["gpt-4", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5-mini", "o3"].map((id) => ({
  id,
  object: "model",
  owned_by: "openai"
}))

const refusal = (status: number, message: string, code: string | null, param: string | null = null) => ({
  status,
  error: { message, type: "invalid_request_error", param, code }
})

interface Call {
  readonly id: string
}

interface Message {
  readonly role: string
  readonly content: string
  readonly calls: ReadonlyArray<Call>
  /** The id of the call that this message answers. */
  readonly answers: string | null
  readonly hasReasoning: boolean
}

interface Chat {
  readonly model: string
  readonly messages: ReadonlyArray<Message>
  readonly stream: boolean
  readonly includeUsage: boolean
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

const isCall = (value: unknown): value is Call =>
  Predicate.hasProperty(value, "id") &&
  typeof value.id === "string" &&
  Predicate.hasProperty(value, "type") &&
  value.type === "function" &&
  Predicate.hasProperty(value, "function") &&
  Predicate.hasProperty(value.function, "name") &&
  typeof value.function.name === "string" &&
  toolName.test(value.function.name) &&
  Predicate.hasProperty(value.function, "arguments") &&
  typeof value.function.arguments === "string"

const roles = ["user", "assistant", "system", "developer", "tool"]

/** Text of content parts; null if one is neither text nor an image. */
const textOfParts = (parts: ReadonlyArray<unknown>): string | null => {
  const texts: Array<string> = []
  for (const part of parts) {
    if (!Predicate.isRecord(part)) return null
    const { image_url, text, type } = part
    if (type === "text" && typeof text === "string") texts.push(text)
    else if (type !== "image_url" || !Predicate.hasProperty(image_url, "url") || typeof image_url.url !== "string") {
      return null
    }
  }
  return texts.join("")
}

const readMessage = (value: unknown): Message | null => {
  if (!Predicate.isRecord(value)) return null
  const { content: rawContent, reasoning_details, role, tool_call_id, tool_calls } = value
  const content = role === "user" && Array.isArray(rawContent) ? textOfParts(rawContent) : rawContent
  if (typeof role !== "string" || !roles.includes(role)) return null
  const calls = tool_calls === undefined ? [] : tool_calls
  if (!Array.isArray(calls) || !calls.every(isCall) || (calls.length === 0 && tool_calls !== undefined)) return null
  if (calls.length > 0 && role !== "assistant") return null
  if (typeof content !== "string" && !(content === null && calls.length > 0)) return null
  if ((role === "tool") !== (typeof tool_call_id === "string")) return null
  return {
    role,
    content: typeof content === "string" ? content : "",
    calls,
    answers: typeof tool_call_id === "string" ? tool_call_id : null,
    hasReasoning: Array.isArray(reasoning_details) && reasoning_details.length > 0
  }
}

const wrongCalls = (messages: ReadonlyArray<Message>, longestId: number): string | null => {
  let open: Array<string> = []
  for (const { answers, calls } of messages) {
    if (answers !== null) {
      if (!open.includes(answers)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      }
      open = open.filter((id) => id !== answers)
      continue
    }
    if (open.length > 0) break
    if (new Set(calls.map(({ id }) => id)).size < calls.length) return "Invalid 'messages': duplicate tool_call ids."
    const long = calls.find(({ id }) => id.length > longestId)
    if (long !== undefined)
      return "Invalid 'tool_calls[0].id': string too long. Expected a string with maximum length 40."
    open = calls.map(({ id }) => id)
  }
  return open.length === 0
    ? null
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`
}

const wrongTools = (tools: unknown): string | null => {
  if (tools === undefined) return null
  if (!Array.isArray(tools) || tools.length === 0)
    return "Invalid 'tools': empty array. Expected an array with minimum length 1."
  const offered: ReadonlyArray<unknown> = tools
  for (const tool of offered) {
    if (!Predicate.hasProperty(tool, "type") || tool.type !== "function" || !Predicate.hasProperty(tool, "function")) {
      return "Missing required parameter: 'tools[0].function'."
    }
    const declared = tool.function
    if (
      !Predicate.hasProperty(declared, "name") ||
      typeof declared.name !== "string" ||
      !toolName.test(declared.name)
    ) {
      return "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
    }
    if (
      !Predicate.hasProperty(declared, "parameters") ||
      !Predicate.hasProperty(declared.parameters, "type") ||
      declared.parameters.type !== "object"
    ) {
      return `Invalid schema for function '${declared.name}': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`
    }
  }
  return null
}

/** Decodes and validates a chat. */
const readChat = (
  body: unknown,
  knows: (model: string) => boolean,
  wantsReasoning: (model: string) => boolean,
  isOpenAis: (model: string) => boolean
): Chat | ReturnType<typeof refusal> => {
  if (!Predicate.isRecord(body)) return refusal(400, "We could not parse the JSON body of your request.", null)
  const { messages, model } = body
  if (typeof model !== "string") return refusal(400, "you must provide a model parameter", null)
  if (!knows(model)) {
    return refusal(404, `The model \`${model}\` does not exist or you do not have access to it.`, "model_not_found")
  }
  if (!Array.isArray(messages))
    return refusal(400, "Missing required parameter: 'messages'.", "missing_required_parameter")
  const decoded = messages.flatMap((message: unknown) => readMessage(message) ?? [])
  if (messages.length === 0 || decoded.length < messages.length) {
    return refusal(400, "Invalid 'messages'.", "invalid_value", "messages")
  }
  const wrong = wrongCalls(decoded, isOpenAis(model) ? 40 : Number.POSITIVE_INFINITY) ?? wrongTools(body["tools"])
  if (wrong !== null) return refusal(400, wrong, null)
  if (wantsReasoning(model) && decoded.some(({ calls, hasReasoning }) => calls.length > 0 && !hasReasoning)) {
    return refusal(400, "Gemini models require OpenRouter reasoning details to be preserved in each request.", null)
  }
  const { max_completion_tokens, max_tokens, stream, stream_options, temperature, top_p } = body
  const isReasoning = /^(o\d|gpt-5)/.test(model)
  if (temperature !== undefined && (typeof temperature !== "number" || temperature < 0 || temperature > 2)) {
    return refusal(
      400,
      "Invalid 'temperature': expected a number between 0 and 2.",
      "decimal_above_max_value",
      "temperature"
    )
  }
  if (isReasoning && (temperature ?? 1) !== 1) {
    return refusal(
      400,
      "Unsupported value: 'temperature'. Only the default (1) value is supported.",
      "unsupported_value"
    )
  }
  if (isReasoning && (top_p ?? 1) !== 1) {
    return refusal(400, "Unsupported parameter: 'top_p' is not supported with this model.", "unsupported_parameter")
  }
  if (isReasoning && max_tokens !== undefined) {
    const hint = "Use 'max_completion_tokens' instead."
    return refusal(
      400,
      `Unsupported parameter: 'max_tokens' is not supported with this model. ${hint}`,
      "unsupported_parameter"
    )
  }
  for (const limit of [max_tokens, max_completion_tokens]) {
    if (limit !== undefined && (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1)) {
      return refusal(400, "Invalid 'max_tokens': integer below minimum value.", "integer_below_min_value", "max_tokens")
    }
  }
  if (stream_options !== undefined && stream !== true) {
    return refusal(
      400,
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      null,
      "stream_options"
    )
  }
  return {
    model,
    messages: decoded,
    stream: stream === true,
    includeUsage: Predicate.hasProperty(stream_options, "include_usage") && stream_options.include_usage === true
  }
}

const usageOf = (chat: Chat, pieces: ReadonlyArray<string>) => ({
  prompt_tokens: 7 * chat.messages.length,
  completion_tokens: pieces.length,
  total_tokens: 7 * chat.messages.length + pieces.length
})

const chunkOf = (chat: Chat, choice: object | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: chat.model,
    choices: choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }],
    ...more
  })}\n\n`

/** The OpenAI protocol at `/v1`. */
const openAi = (options: FakeOpenAiOptions): ModelVendor<Chat> => {
  const models = options.models ?? openAiModels
  const knows = (model: string) => models.some((entry) => Predicate.hasProperty(entry, "id") && entry.id === model)
  const isOpenAis = (model: string) => options.models === undefined || model.startsWith("openai/")
  const refuse = ({ error, status }: ReturnType<typeof refusal>) => ({ status, body: { error } })

  const read = ({ body, headers, method, path }: ReceivedModelRequest) => {
    const isPublic = method === "GET" && path === "/v1/models" && options.modelsArePublic === true
    if (!isPublic && ![apiKey, ownerKey].some((key) => headers.authorization === `Bearer ${key}`)) {
      const shown = headers.authorization ?? "nothing"
      return refuse(refusal(401, `Incorrect API key provided: ${shown}.`, "invalid_api_key"))
    }
    if (method === "GET" && path === "/v1/models") return { status: 200, body: { object: "list", data: models } }
    if (method === "GET" && path === "/v1/key" && options.hasKeyPath === true) {
      return { status: 200, body: { data: { label: "fake" } } }
    }
    if (method === "POST" && path === "/v1/chat/completions") {
      const chat = readChat(body, knows, options.wantsReasoning ?? (() => false), isOpenAis)
      return "error" in chat ? refuse(chat) : { chat }
    }
    return refuse(refusal(404, `Unknown request URL: ${method} ${path}.`, "unknown_url"))
  }

  return {
    apiKey,
    version: "/v1",
    read,
    lastMessage: (chat) => chat.messages.at(-1)?.content ?? "",
    encodeStart: (chat) => chunkOf(chat, { delta: { role: "assistant", content: "" } }),
    encodeDelta: (chat, content) => chunkOf(chat, { delta: { content } }),
    encodeToolCalls: (chat, calls, cut) =>
      calls
        .flatMap((call, index) => {
          const [first, rest] = splitInHalf(call.arguments)
          const id = call.id ?? `call_fake${index}`
          const begin = { index, id, type: "function", function: { name: call.name, arguments: "" } }
          const more = cut && index === calls.length - 1 ? [first] : [first, rest]
          const reasoning = {
            type: "reasoning.encrypted",
            data: call.signature,
            id,
            format: "google-gemini-v1",
            index: 0
          }
          return [
            ...(call.signature === undefined ? [] : [{ reasoning_details: [reasoning] }]),
            { tool_calls: [begin] },
            ...more.map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] }))
          ]
        })
        .map((delta) => chunkOf(chat, { delta }))
        .join(""),
    encodeEnd: (chat, pieces, withUsage, ending) => {
      const usage = chat.includeUsage && withUsage ? chunkOf(chat, null, { usage: usageOf(chat, pieces) }) : ""
      return `${chunkOf(chat, { delta: {}, finish_reason: ending === "calls" ? "tool_calls" : ending })}${usage}data: [DONE]\n\n`
    },
    encodeWhole: (chat, pieces, calls) =>
      chat.stream
        ? null
        : {
            id: "chatcmpl-1",
            object: "chat.completion",
            model: chat.model,
            choices: [
              calls.length === 0
                ? { index: 0, message: { role: "assistant", content: pieces.join("") }, finish_reason: "stop" }
                : {
                    index: 0,
                    message: {
                      role: "assistant",
                      content: null,
                      tool_calls: calls.map(({ arguments: text, id, name }, index) => ({
                        id: id ?? `call_fake${index}`,
                        type: "function",
                        function: { name, arguments: text }
                      }))
                    },
                    finish_reason: "tool_calls"
                  }
            ],
            usage: usageOf(chat, pieces)
          },
    encodeError: (error) => ({ error })
  }
}

/** Starts a fake of OpenAI's chat completions over HTTP with configurable failures. */
export const makeFakeOpenAi = (options: FakeOpenAiOptions = {}): Effect.Effect<FakeOpenAi, never, Scope.Scope> =>
  makeFakeModelVendor(openAi(options))
