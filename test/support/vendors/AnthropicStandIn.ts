import { type Effect, Predicate, type Scope } from "effect"
import { type Received, type Reply, type Vendor, vendorStandIn, type VendorStandIn } from "./VendorStandIn.ts"

const apiKey = "sk-ant-stand-in-5f2c9e"

interface KnownModel {
  readonly id: string
  /** The most tokens of one answer. */
  readonly most: number
  /** How many of temperature and top_p it may be told: none, one or both. */
  readonly sampling: 0 | 1 | 2
  /** Whether it goes on with an assistant's last word. */
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

interface Chat {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly stream: boolean
}

const refusal = (status: number, type: string, message: string): Reply => ({
  status,
  body: { type: "error", error: { type, message }, request_id: "req_stand_in" }
})

const invalid = (message: string) => refusal(400, "invalid_request_error", message)

const fields = ["model", "messages", "max_tokens", "system", "temperature", "top_p", "stream"]

const isMessage = (value: unknown): value is Chat["messages"][number] =>
  Predicate.hasProperty(value, "role") &&
  typeof value.role === "string" &&
  Predicate.hasProperty(value, "content") &&
  typeof value.content === "string"

const isFraction = (value: unknown) => value === undefined || (typeof value === "number" && value >= 0 && value <= 1)

/** What is wrong with the messages, if anything is. */
const wrongMessages = (messages: Chat["messages"], { prefill }: KnownModel): string | null => {
  if (messages.length === 0) return "messages: at least one message is required"
  const stranger = messages.find(({ role }) => role !== "user" && role !== "assistant")
  if (stranger !== undefined)
    return `messages: Unexpected role "${stranger.role}". Use the top-level \`system\` parameter.`
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role'
  if (messages.some(({ content }) => content.trim() === "")) {
    return "messages: text content blocks must contain non-whitespace text"
  }
  return messages.at(-1)?.role === "assistant" && !prefill
    ? "This model does not support assistant message prefill. The conversation must end with a user message."
    : null
}

/** What is wrong with how the model is told to sample, if anything is. */
const wrongSampling = (temperature: unknown, topP: unknown, { sampling }: KnownModel): string | null => {
  if (!isFraction(temperature)) return "temperature: range: 0..1"
  if (!isFraction(topP)) return "top_p: range: 0..1"
  const told = [temperature, topP].filter((value) => value !== undefined).length
  if (told > 0 && sampling === 0) return "`temperature` and `top_p` are not supported by this model."
  return told > sampling
    ? "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    : null
}

/** Reads a chat as the vendor does, refusing what it refuses. */
const readChat = (body: unknown): { readonly chat: Chat } | Reply => {
  if (!Predicate.isRecord(body)) return invalid("The request body is not valid JSON.")
  const extra = Object.keys(body).find((field) => !fields.includes(field))
  if (extra !== undefined) return invalid(`${extra}: Extra inputs are not permitted`)
  const { max_tokens, messages, model, stream, system, temperature, top_p } = body
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
  if (!Array.isArray(messages) || !messages.every(isMessage)) return invalid("messages: Input should be a valid list")
  const wrong = wrongMessages(messages, known) ?? wrongSampling(temperature, top_p, known)
  return wrong === null ? { chat: { model: known.id, messages, stream: stream === true } } : invalid(wrong)
}

const read = ({ body, headers, method, path }: Received): { readonly chat: Chat } | Reply => {
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

const anthropic: Vendor<Chat> = {
  apiKey,
  version: "/v1",
  read,
  said: ({ messages }) => messages.at(-1)?.content ?? "",
  begin: (chat, withUsage) =>
    [
      event("message_start", {
        message: messageOf(chat, {
          usage: withUsage ? { input_tokens: promptTokens(chat), output_tokens: 1 } : null
        })
      }),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      event("ping", {})
    ].join(""),
  piece: (_, text) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  end: (_, pieces, withUsage) =>
    [
      event("content_block_stop", { index: 0 }),
      event("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: withUsage ? { output_tokens: pieces.length } : null
      }),
      event("message_stop", {})
    ].join(""),
  whole: (chat, pieces) =>
    chat.stream
      ? null
      : messageOf(chat, {
          content: [{ type: "text", text: pieces.join("") }],
          stop_reason: "end_turn",
          usage: { input_tokens: promptTokens(chat), output_tokens: pieces.length }
        }),
  refusal: (error) => ({ type: "error", error, request_id: "req_stand_in" })
}

/** A server that speaks Anthropic's Messages API over real HTTP, and misbehaves when told to. */
export const anthropicStandIn: Effect.Effect<VendorStandIn, never, Scope.Scope> = vendorStandIn(anthropic)
