import { type Effect, Predicate, type Scope } from "effect"
import { type Received, type Vendor, vendorStandIn, type VendorStandIn } from "./VendorStandIn.ts"

export type { Behaviour, Received } from "./VendorStandIn.ts"

export type OpenAiStandIn = VendorStandIn

export interface OpenAiStandInOptions {
  /** The entries of GET /models. */
  readonly models?: ReadonlyArray<unknown>
  /** Whether GET /models is for everybody, as OpenRouter's is. */
  readonly modelsArePublic?: boolean
  /** Whether there is a GET /key, as OpenRouter has. */
  readonly hasKeyPath?: boolean
}

const apiKey = "sk-stand-in-5f2c9e"

const openAiModels = ["gpt-4", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5-mini", "o3"].map((id) => ({
  id,
  object: "model",
  owned_by: "openai"
}))

const refusal = (status: number, message: string, code: string | null, param: string | null = null) => ({
  status,
  error: { message, type: "invalid_request_error", param, code }
})

interface Chat {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly stream: boolean
  readonly includeUsage: boolean
}

const isMessage = (value: unknown): value is Chat["messages"][number] =>
  Predicate.hasProperty(value, "role") &&
  (value.role === "user" || value.role === "assistant" || value.role === "system" || value.role === "developer") &&
  Predicate.hasProperty(value, "content") &&
  typeof value.content === "string"

/** Reads a chat as the vendor does, refusing what it refuses. */
const readChat = (body: unknown, knows: (model: string) => boolean): Chat | ReturnType<typeof refusal> => {
  if (!Predicate.isRecord(body)) return refusal(400, "We could not parse the JSON body of your request.", null)
  const { messages, model } = body
  if (typeof model !== "string") return refusal(400, "you must provide a model parameter", null)
  if (!knows(model)) {
    return refusal(404, `The model \`${model}\` does not exist or you do not have access to it.`, "model_not_found")
  }
  if (!Array.isArray(messages))
    return refusal(400, "Missing required parameter: 'messages'.", "missing_required_parameter")
  if (messages.length === 0 || !messages.every(isMessage)) {
    return refusal(400, "Invalid 'messages'.", "invalid_value", "messages")
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
    messages,
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

/** OpenAI as one speaks with it at `/v1`. */
const openAi = (options: OpenAiStandInOptions): Vendor<Chat> => {
  const models = options.models ?? openAiModels
  const knows = (model: string) => models.some((entry) => Predicate.hasProperty(entry, "id") && entry.id === model)
  const refuse = ({ error, status }: ReturnType<typeof refusal>) => ({ status, body: { error } })

  const read = ({ body, headers, method, path }: Received) => {
    const isPublic = method === "GET" && path === "/v1/models" && options.modelsArePublic === true
    if (!isPublic && headers.authorization !== `Bearer ${apiKey}`) {
      const shown = headers.authorization ?? "nothing"
      return refuse(refusal(401, `Incorrect API key provided: ${shown}.`, "invalid_api_key"))
    }
    if (method === "GET" && path === "/v1/models") return { status: 200, body: { object: "list", data: models } }
    if (method === "GET" && path === "/v1/key" && options.hasKeyPath === true) {
      return { status: 200, body: { data: { label: "stand-in" } } }
    }
    if (method === "POST" && path === "/v1/chat/completions") {
      const chat = readChat(body, knows)
      return "error" in chat ? refuse(chat) : { chat }
    }
    return refuse(refusal(404, `Unknown request URL: ${method} ${path}.`, "unknown_url"))
  }

  return {
    apiKey,
    version: "/v1",
    read,
    said: (chat) => chat.messages.at(-1)?.content ?? "",
    begin: (chat) => chunkOf(chat, { delta: { role: "assistant", content: "" } }),
    piece: (chat, content) => chunkOf(chat, { delta: { content } }),
    end: (chat, pieces, withUsage) => {
      const usage = chat.includeUsage && withUsage ? chunkOf(chat, null, { usage: usageOf(chat, pieces) }) : ""
      return `${chunkOf(chat, { delta: {}, finish_reason: "stop" })}${usage}data: [DONE]\n\n`
    },
    whole: (chat, pieces) =>
      chat.stream
        ? null
        : {
            id: "chatcmpl-1",
            object: "chat.completion",
            model: chat.model,
            choices: [{ index: 0, message: { role: "assistant", content: pieces.join("") }, finish_reason: "stop" }],
            usage: usageOf(chat, pieces)
          },
    refusal: (error) => ({ error })
  }
}

/** A server that speaks OpenAI's chat completions over real HTTP, and misbehaves when told to. */
export const openAiStandIn = (options: OpenAiStandInOptions = {}): Effect.Effect<OpenAiStandIn, never, Scope.Scope> =>
  vendorStandIn(openAi(options))
