import { type Effect, Predicate, type Scope } from "effect"
import {
  type AnswerEnding,
  splitInHalf,
  type ReceivedModelRequest,
  type VendorReply,
  type ModelVendor,
  makeFakeModelVendor,
  type FakeModelVendor
} from "./FakeModelVendor.ts"

const apiKey = "sk-ant-fake-5f2c9e"

interface KnownModel {
  readonly id: string
  /** Maximum output tokens. */
  readonly most: number
  /** How many of temperature and top_p the model accepts together. */
  readonly sampling: 0 | 1 | 2
  /** Whether the last message can be the assistant's. */
  readonly prefill: boolean
}

const models: ReadonlyArray<KnownModel> = [
  { id: "claude-opus-5", most: 128_000, sampling: 0, prefill: false },
  { id: "claude-opus-4-7", most: 128_000, sampling: 0, prefill: false },
  { id: "claude-opus-4-6", most: 128_000, sampling: 1, prefill: false },
  { id: "claude-haiku-4-5-20251001", most: 64_000, sampling: 1, prefill: true },
  { id: "claude-sonnet-4-0", most: 64_000, sampling: 2, prefill: true },
  { id: "claude-3-haiku-20240307", most: 4_096, sampling: 2, prefill: true }
]

const aliases = new Map([["claude-haiku-4-5", "claude-haiku-4-5-20251001"]])

/** A block: text, image, tool call or tool result. `id` is that of the call. */
interface Block {
  readonly type: "text" | "image" | "tool_use" | "tool_result"
  readonly id: string
  readonly text: string
}

interface Message {
  readonly role: string
  readonly blocks: ReadonlyArray<Block>
}

interface Chat {
  readonly model: string
  readonly messages: ReadonlyArray<Message>
  readonly stream: boolean
}

const refusal = (status: number, type: string, message: string): VendorReply => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_fake" }
})

const invalid = (message: string) => refusal(400, "invalid_request_error", message)

const fields = [
  "model",
  "messages",
  "max_tokens",
  "system",
  "temperature",
  "top_p",
  "stream",
  "tools",
  "tool_choice",
  "stop_sequences",
  "output_config"
]

const toolId = /^[a-zA-Z0-9_-]+$/

const isSource = (source: unknown) =>
  Predicate.isRecord(source) &&
  (source["type"] === "url"
    ? typeof source["url"] === "string"
    : source["type"] === "base64" &&
      typeof source["data"] === "string" &&
      /^image\/(jpeg|png|gif|webp)$/.test(String(source["media_type"])))

const readBlock = (value: unknown): Block | null => {
  if (!Predicate.isRecord(value)) return null
  const { content, id, input, name, source, text, tool_use_id, type } = value
  switch (type) {
    case "text":
      return typeof text === "string" ? { type, id: "", text } : null
    case "image":
      return isSource(source) ? { type, id: "", text: "" } : null
    case "tool_use":
      return typeof id === "string" && toolId.test(id) && typeof name === "string" && Predicate.isRecord(input)
        ? { type, id, text: "" }
        : null
    case "tool_result":
      return typeof tool_use_id === "string" && typeof content === "string"
        ? { type, id: tool_use_id, text: content }
        : null
    default:
      return null
  }
}

const readMessage = (value: unknown): Message | null => {
  if (!Predicate.isRecord(value)) return null
  const { content, role } = value
  if (typeof role !== "string") return null
  if (typeof content === "string") return { role, blocks: [{ type: "text", id: "", text: content }] }
  if (!Array.isArray(content)) return null
  const blocks = content.flatMap((block: unknown) => readBlock(block) ?? [])
  return blocks.length < content.length ? null : { role, blocks }
}

const idsOf = (message: Message | undefined, type: Block["type"]) =>
  (message?.blocks ?? []).filter((block) => block.type === type).map(({ id }) => id)

const wrongCalls = (messages: ReadonlyArray<Message>): string | null => {
  const calls = messages.flatMap((message) => idsOf(message, "tool_use"))
  if (new Set(calls).size < calls.length) return "messages: `tool_use` ids must be unique"
  for (const [index, message] of messages.entries()) {
    const called = idsOf(message, "tool_use")
    if (called.length > 0 && message.role !== "assistant")
      return "messages: `tool_use` blocks can only be in assistant messages"
    const after = messages[index + 1]
    // A result after a text does not directly follow the call.
    const firstText = after?.blocks.findIndex(({ type }) => type === "text") ?? -1
    const resultIds = idsOf(
      after === undefined || firstText < 0 ? after : { ...after, blocks: after.blocks.slice(0, firstText) },
      "tool_result"
    )
    const open = called.filter((id) => !resultIds.includes(id))
    if (open.length > 0) {
      return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    }
    const before = idsOf(messages[index - 1], "tool_use")
    const stray = idsOf(message, "tool_result").find((id) => !before.includes(id))
    if (stray !== undefined) {
      return `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    }
  }
  return null
}

const wrongTools = (tools: unknown, choice: unknown, messages: ReadonlyArray<Message>): string | null => {
  if (tools === undefined) {
    if (choice !== undefined) return "tool_choice: may only be specified while providing tools"
    return messages.some(({ blocks }) => blocks.some(({ type }) => type.startsWith("tool_")))
      ? "Requests which include `tool_use` or `tool_result` blocks must define tools"
      : null
  }
  if (!Array.isArray(tools)) return "tools: Input should be a valid list"
  const offered: ReadonlyArray<unknown> = tools
  for (const tool of offered) {
    if (!Predicate.isRecord(tool)) return "tools.0: Input should be a valid dictionary"
    const { input_schema, name } = tool
    if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
      return "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
    }
    if (!Predicate.hasProperty(input_schema, "type") || input_schema.type !== "object") {
      return "tools.0.custom.input_schema.type: Input should be 'object'"
    }
  }
  return null
}

const isFraction = (value: unknown) => value === undefined || (typeof value === "number" && value >= 0 && value <= 1)

const wrongMessages = (messages: Chat["messages"], { prefill }: KnownModel): string | null => {
  if (messages.length === 0) return "messages: at least one message is required"
  const stranger = messages.find(({ role }) => role !== "user" && role !== "assistant")
  if (stranger !== undefined)
    return `messages: Unexpected role "${stranger.role}". Use the top-level \`system\` parameter.`
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role'
  if (messages.some(({ blocks }) => blocks.some(({ text, type }) => type === "text" && text.trim() === ""))) {
    return "messages: text content blocks must contain non-whitespace text"
  }
  if (messages.at(-1)?.role === "assistant" && !prefill) {
    return "This model does not support assistant message prefill. The conversation must end with a user message."
  }
  return wrongCalls(messages)
}

const wrongSampling = (temperature: unknown, topP: unknown, { sampling }: KnownModel): string | null => {
  if (!isFraction(temperature)) return "temperature: range: 0..1"
  if (!isFraction(topP)) return "top_p: range: 0..1"
  const givenOptions = [temperature, topP].filter((value) => value !== undefined).length
  if (givenOptions > 0 && sampling === 0) return "`temperature` and `top_p` are not supported by this model."
  return givenOptions > sampling
    ? "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    : null
}

/** Decodes and validates a chat. */
const readChat = (body: unknown): { readonly chat: Chat } | VendorReply => {
  if (!Predicate.isRecord(body)) return invalid("The request body is not valid JSON.")
  const extra = Object.keys(body).find((field) => !fields.includes(field))
  if (extra !== undefined) return invalid(`${extra}: Extra inputs are not permitted`)
  const { max_tokens, messages, model, stream, system, temperature, tool_choice, tools, top_p } = body
  if (typeof model !== "string") return invalid("model: Field required")
  const known = models.find(({ id }) => id === (aliases.get(model) ?? model))
  if (known === undefined) return refusal(404, "not_found_error", `model: ${model}`)
  if (max_tokens === undefined) return invalid("max_tokens: Field required")
  if (typeof max_tokens !== "number" || !Number.isInteger(max_tokens) || max_tokens < 1) {
    return invalid("max_tokens: Input should be greater than or equal to 1")
  }
  if (max_tokens > known.most) {
    return invalid(`max_tokens: ${max_tokens} > ${known.most}, which is the maximum allowed for ${known.id}`)
  }
  if (system !== undefined && (typeof system !== "string" || system.trim() === "")) {
    return invalid("system: text content blocks must be non-empty")
  }
  if (!Array.isArray(messages)) return invalid("messages: Input should be a valid list")
  const decoded = messages.flatMap((message: unknown) => readMessage(message) ?? [])
  if (decoded.length < messages.length) return invalid("messages: Input should be a valid list")
  const wrong =
    wrongMessages(decoded, known) ?? wrongSampling(temperature, top_p, known) ?? wrongTools(tools, tool_choice, decoded)
  return wrong === null ? { chat: { model: known.id, messages: decoded, stream: stream === true } } : invalid(wrong)
}

const read = ({ body, headers, method, path }: ReceivedModelRequest): { readonly chat: Chat } | VendorReply => {
  if (headers["x-api-key"] === undefined) return refusal(401, "authentication_error", "x-api-key header is required")
  if (headers["x-api-key"] !== apiKey) return refusal(401, "authentication_error", "invalid x-api-key")
  if (headers["anthropic-version"] === undefined) return invalid("anthropic-version: header is required")
  if (headers["anthropic-version"] !== "2023-06-01") return invalid("anthropic-version: is not a valid version")
  const [route = "", query = ""] = path.split("?")
  if (method === "GET" && route === "/v1/models") {
    const limit = Number(new URLSearchParams(query).get("limit") ?? 20)
    if (!(limit >= 1 && limit <= 1000)) return invalid("limit: Input should be between 1 and 1000")
    const data = models.slice(0, limit).map(({ id }) => ({ type: "model", id, display_name: id }))
    return {
      status: 200,
      body: { data, has_more: models.length > limit, first_id: data[0]?.id, last_id: data.at(-1)?.id }
    }
  }
  return method === "POST" && route === "/v1/messages" ? readChat(body) : refusal(404, "not_found_error", "Not Found")
}

const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

const promptTokens = (chat: Chat) => 7 * chat.messages.length

const messageOf = (chat: Chat, more: object) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: chat.model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  ...more
})

const stopReasons: Record<AnswerEnding, string> = { stop: "end_turn", calls: "tool_use", length: "max_tokens" }

const anthropic: ModelVendor<Chat> = {
  apiKey,
  version: "/v1",
  read,
  lastMessage: ({ messages }) =>
    (messages.at(-1)?.blocks ?? [])
      .filter(({ type }) => type !== "image")
      .map(({ text }) => text)
      .join(" "),
  encodeStart: (chat, withUsage) =>
    [
      event("message_start", {
        message: messageOf(chat, {
          usage: withUsage ? { input_tokens: promptTokens(chat), output_tokens: 1 } : null
        })
      }),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      event("ping", {})
    ].join(""),
  encodeDelta: (_, text) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  encodeToolCalls: (_, calls, cut) =>
    calls
      .flatMap((call, at) => {
        const index = at + 1
        const [first, rest] = splitInHalf(call.arguments)
        const pieces = cut && index === calls.length ? ["", first] : ["", first, rest]
        return [
          // The text block ends before another block begins.
          event("content_block_stop", { index: at }),
          event("content_block_start", {
            index,
            content_block: { type: "tool_use", id: call.id ?? `toolu_fake${at}`, name: call.name, input: {} }
          }),
          ...pieces.map((json) =>
            event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json: json } })
          )
        ]
      })
      .join(""),
  encodeEnd: (_, pieces, withUsage, ending) =>
    [
      event("content_block_stop", { index: 0 }),
      event("message_delta", {
        delta: { stop_reason: stopReasons[ending], stop_sequence: null },
        usage: withUsage ? { output_tokens: pieces.length } : null
      }),
      event("message_stop", {})
    ].join(""),
  encodeWhole: (chat, pieces) =>
    chat.stream
      ? null
      : messageOf(chat, {
          content: [{ type: "text", text: pieces.join("") }],
          stop_reason: "end_turn",
          usage: { input_tokens: promptTokens(chat), output_tokens: pieces.length }
        }),
  encodeError: (error) => ({ type: "error", error, request_id: "req_fake" })
}

/** Starts a fake of Anthropic's Messages API over HTTP with configurable failures. */
export const makeFakeAnthropic: Effect.Effect<FakeModelVendor, never, Scope.Scope> = makeFakeModelVendor(anthropic)
