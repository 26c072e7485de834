import { type Effect, Predicate, type Scope } from "effect"
import {
  type AnswerEnding,
  type ReceivedModelRequest,
  type VendorReply,
  type ModelVendor,
  makeFakeModelVendor,
  type FakeModelVendor
} from "./FakeModelVendor.ts"

const apiKey = "AIza-fake-5f2c9e"

const chatModels = ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-3.1-pro-preview", "gemini-3.5-flash"]

const models = [
  ...chatModels.map((name) => ({
    name: `models/${name}`,
    supportedGenerationMethods: ["generateContent", "countTokens"]
  })),
  { name: "models/gemini-2.5-flash-lite", supportedGenerationMethods: ["embedContent"] }
]

interface Content {
  readonly role: string | undefined
  readonly text: string
  /** The signatures of the calls, undefined where absent. */
  readonly calls: ReadonlyArray<string | undefined>
  readonly results: number
}

interface Chat {
  readonly contents: ReadonlyArray<Content>
  readonly streams: boolean
}

const refusal = (code: number, status: string, message: string, details: ReadonlyArray<unknown> = []): VendorReply => ({
  status: code,
  body: { error: { code, message, status, details } }
})

const invalid = (message: string) => refusal(400, "INVALID_ARGUMENT", message)

const badKey = refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
  {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: "API_KEY_INVALID",
    domain: "googleapis.com",
    metadata: { service: "generativelanguage.googleapis.com" }
  },
  { "@type": "type.googleapis.com/google.rpc.LocalizedMessage", locale: "en-US", message: "API key not valid." }
])

const unknownIn = (value: object, fields: ReadonlyArray<string>) =>
  Object.keys(value).find((field) => !fields.includes(field))

const readContent = (value: unknown): Content | null => {
  if (!Predicate.isRecord(value) || unknownIn(value, ["role", "parts"]) !== undefined) return null
  const { parts, role } = value
  if (role !== undefined && typeof role !== "string") return null
  if (!Array.isArray(parts) || parts.length === 0) return null
  const texts: Array<string> = []
  const calls: Array<string | undefined> = []
  for (const part of parts) {
    const { fileData, functionCall, functionResponse, inlineData, text, thoughtSignature } = Predicate.isRecord(part)
      ? part
      : {}
    if (typeof text === "string") texts.push(text)
    else if (Predicate.hasProperty(inlineData, "mimeType") && Predicate.hasProperty(inlineData, "data")) continue
    else if (Predicate.hasProperty(fileData, "fileUri")) continue
    else if (Predicate.hasProperty(functionCall, "name") && Predicate.hasProperty(functionCall, "args")) {
      if (!Predicate.isRecord(functionCall.args)) return null
      calls.push(typeof thoughtSignature === "string" ? thoughtSignature : undefined)
    } else if (Predicate.hasProperty(functionResponse, "name") && Predicate.hasProperty(functionResponse, "response")) {
      if (!Predicate.isRecord(functionResponse.response)) return null
      texts.push(JSON.stringify(functionResponse.response))
    } else return null
  }
  const results = parts.filter((part) => Predicate.hasProperty(part, "functionResponse")).length
  return { role, text: texts.join(""), calls, results }
}

const wrongCalls = (contents: ReadonlyArray<Content>, model: string): string | null => {
  for (const [index, { calls, results, role }] of contents.entries()) {
    const before = contents[index - 1]
    if (calls.length > 0) {
      if (role !== "model" || before?.role !== "user") {
        return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
      }
      const [signature] = calls
      if (model.startsWith("gemini-3")) {
        if (signature === undefined) {
          return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call, position ${index + 1}.`
        }
        if (signature !== "skip_thought_signature_validator" && !signature.startsWith(`${model}-`)) {
          return "Corrupted thought signature."
        }
      }
      if (contents[index + 1]?.results !== calls.length) {
        return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
      }
    }
    if (results > 0 && (before === undefined || before.calls.length === 0)) {
      return "Please ensure that function response turn comes immediately after a function call turn."
    }
  }
  return null
}

const wrongTools = (tools: unknown): string | null => {
  if (tools === undefined) return null
  const offered: ReadonlyArray<unknown> = Array.isArray(tools) ? tools : [tools]
  for (const tool of offered) {
    if (!Predicate.hasProperty(tool, "functionDeclarations") || !Array.isArray(tool.functionDeclarations)) {
      return "Invalid value at 'tools[0]'"
    }
    const declared: ReadonlyArray<unknown> = tool.functionDeclarations
    for (const one of declared) {
      if (!Predicate.isRecord(one)) return "Invalid value at 'tools[0].function_declarations[0]'"
      const extra = unknownIn(one, ["name", "description", "parametersJsonSchema"])
      if (extra !== undefined)
        return `Unknown name "${extra}" at 'tools[0].function_declarations[0]': Cannot find field.`
      if (typeof one["name"] !== "string" || !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(one["name"])) {
        return "Invalid function name. Must start with a letter or an underscore."
      }
      if (Predicate.hasProperty(one["parametersJsonSchema"], "$schema"))
        return 'Unknown name "$schema": Cannot find field.'
    }
  }
  return null
}

const inRange = (value: unknown, from: number, to: number) =>
  value === undefined || (typeof value === "number" && value >= from && value <= to)

const wrongConfig = (config: unknown): string | null => {
  if (config === undefined) return null
  if (!Predicate.isRecord(config)) return "Invalid value at 'generation_config'"
  const { maxOutputTokens, temperature, topP } = config
  const unknown = unknownIn(config, [
    "temperature",
    "topP",
    "maxOutputTokens",
    "stopSequences",
    "seed",
    "frequencyPenalty",
    "presencePenalty",
    "responseMimeType",
    "responseJsonSchema"
  ])
  if (unknown !== undefined) return `Unknown name "${unknown}" at 'generation_config': Cannot find field.`
  if (!inRange(temperature, 0, 2)) return "temperature must be in the range [0.0, 2.0]."
  if (!inRange(topP, 0, 1)) return "top_p must be in the range [0.0, 1.0]."
  return inRange(maxOutputTokens, 1, 65_536) ? null : "max_output_tokens must be in the range [1, 65537)."
}

/** Decodes and validates a chat. */
const readChat = (body: unknown, model: string, streams: boolean): { readonly chat: Chat } | VendorReply => {
  if (!Predicate.isRecord(body)) return invalid("Invalid JSON payload received.")
  const unknown = unknownIn(body, ["contents", "systemInstruction", "generationConfig", "tools", "toolConfig"])
  if (unknown !== undefined) {
    return invalid(`Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`)
  }
  const { contents, generationConfig, systemInstruction, tools } = body
  if (!Array.isArray(contents) || contents.length === 0) {
    return invalid("* GenerateContentRequest.contents: contents is not specified")
  }
  const decoded = contents.flatMap((content: unknown) => readContent(content) ?? [])
  if (
    decoded.length < contents.length ||
    (systemInstruction !== undefined && readContent(systemInstruction) === null)
  ) {
    return invalid("* GenerateContentRequest.contents.parts: contents.parts must not be empty.")
  }
  if (decoded.some(({ role }) => role !== undefined && role !== "user" && role !== "model")) {
    return invalid("Please use a valid role: user, model.")
  }
  if (decoded.at(-1)?.role === "model") {
    return invalid("Please ensure that multiturn requests end with a user role or the role field is empty.")
  }
  const wrong = wrongConfig(generationConfig) ?? wrongCalls(decoded, model) ?? wrongTools(tools)
  return wrong === null ? { chat: { contents: decoded, streams } } : invalid(wrong)
}

const read = ({ body, headers, method, path }: ReceivedModelRequest): { readonly chat: Chat } | VendorReply => {
  const [route = "", query = ""] = path.split("?")
  const requested = new URLSearchParams(query)
  const key = headers["x-goog-api-key"] ?? requested.get("key")
  if (key === null) {
    return refusal(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers. Please use API Key.")
  }
  if (key !== apiKey) return badKey
  if (method === "GET" && route === "/v1beta/models") {
    return { status: 200, body: { models: models.slice(0, Number(requested.get("pageSize") ?? 50)) } }
  }
  const called = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(route)
  if (method !== "POST" || called === null) return refusal(404, "NOT_FOUND", "Requested entity was not found.")
  const [, name = "", action] = called
  return chatModels.includes(name)
    ? readChat(body, name, action === "streamGenerateContent" && requested.get("alt") === "sse")
    : refusal(
        404,
        "NOT_FOUND",
        `models/${name} is not found for API version v1beta, or is not supported for generateContent.`
      )
}

const usageOf = (chat: Chat, pieces: ReadonlyArray<string>) => ({
  promptTokenCount: 7 * chat.contents.length,
  ...(pieces.length === 0 ? {} : { candidatesTokenCount: pieces.length }),
  totalTokenCount: 7 * chat.contents.length + pieces.length
})

const candidateOf = (text: string, more: object = {}, parts: ReadonlyArray<object> = [{ text }]) => ({
  content: { role: "model", parts },
  index: 0,
  ...more
})

const event = (chunk: object) => `data: ${JSON.stringify({ ...chunk, modelVersion: "fake" })}\r\n\r\n`

const finishReasons: Record<AnswerEnding, string> = { stop: "STOP", calls: "STOP", length: "MAX_TOKENS" }

const google: ModelVendor<Chat> = {
  apiKey,
  version: "/v1beta",
  read,
  lastMessage: ({ contents }) => contents.at(-1)?.text ?? "",
  encodeStart: () => "",
  encodeDelta: (_, text) => event({ candidates: [candidateOf(text)] }),
  // Calls are sent whole; a call that is cut is not sent.
  encodeToolCalls: (_, calls, cut) =>
    (cut ? calls.slice(0, -1) : calls)
      .map(({ arguments: text, id, name, signature }) => {
        const args: unknown = JSON.parse(text)
        return event({
          candidates: [
            candidateOf("", {}, [
              {
                functionCall: { name, ...(id === undefined ? {} : { id }), ...(text === "{}" ? {} : { args }) },
                ...(signature === undefined ? {} : { thoughtSignature: signature })
              }
            ])
          ]
        })
      })
      .join(""),
  encodeEnd: (chat, pieces, withUsage, ending) =>
    event({
      candidates: [candidateOf("", { finishReason: finishReasons[ending] })],
      ...(withUsage ? { usageMetadata: usageOf(chat, pieces) } : {})
    }),
  encodeWhole: (chat, pieces) =>
    chat.streams
      ? null
      : { candidates: [candidateOf(pieces.join(""), { finishReason: "STOP" })], usageMetadata: usageOf(chat, pieces) },
  encodeError: (error) => ({ error })
}

/** Starts a fake of Google's Gemini API over HTTP with configurable failures. */
export const makeFakeGoogle: Effect.Effect<FakeModelVendor, never, Scope.Scope> = makeFakeModelVendor(google)
