import { chatMessage, chatRequest } from "@berth/api/ai/ToChatMessage"
import { PluginIsUnknown } from "@berth/api/gateway/GatewayErrorBodies"
import {
  AgentBody,
  largestRecording,
  RecordingBody,
  RecordingForm,
  SpeechBody,
  TextBody
} from "@berth/api/gateway/PluginBodies"
import { BodyIsTooLarge, MediaTypeIsUnsupported } from "@berth/api/http/TransportErrors"
import { isPluginId, type PluginId, plugins } from "@berth/domain/gateway/Plugin"
import type { PluginInput } from "@berth/domain/gateway/PluginInput"
import { PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import { HttpApiError, type HttpServerRequest } from "@effect/platform"
import { Effect, Either, Option, Predicate, Schema } from "effect"
import { type BodyRefusal, defaultBodyLimit, isBodyRefusal } from "../http/RequestBody.ts"
import { type Form, readForm } from "../http/ReadForm.ts"
import { wantsEvents } from "../http/Sse.ts"

/** The largest body of all, a recording in base64 with what stands beside it; of other plugins it is `defaultBodyLimit`. */
export const gatewayBodyLimit = Math.ceil(largestRecording / 3) * 4 + 64 * 1024

const defaultPlugin: PluginId = "generate-text"

/** A body as it came, and as what it is. */
type Content =
  | { readonly _tag: "Json"; readonly bytes: Uint8Array; readonly value: unknown }
  | { readonly _tag: "Form"; readonly bytes: Uint8Array; readonly form: Form }

/** A call of a plugin that can be carried out. */
export interface GatewayCall {
  readonly plugin: PluginId
  readonly input: PluginInput
  /** The bytes of the body, to which a payment is bound. */
  readonly body: Uint8Array
  /** Tells calls apart, whatever boundary a form has been given this time. */
  readonly fingerprint: string
  /** Whether the answer goes out piece by piece. */
  readonly streamed: boolean
}

type Request = HttpServerRequest.HttpServerRequest

const isForm = ({ headers }: Request) => /^multipart\/form-data\s*;/i.test(headers["content-type"] ?? "")

const invalid = (field: string, reason: string) => new PluginInputIsInvalid({ field, reason })

/** The body, or why it is refused, which is told after who calls is known. */
export const readContent = (request: Request): Effect.Effect<Either.Either<Content, BodyRefusal>> =>
  Effect.gen(function* () {
    const bytes = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
    if (!isForm(request)) return { _tag: "Json", bytes, value: yield* Effect.orDie(request.json) } as const
    return { _tag: "Form", bytes, form: yield* readForm(bytes, request.headers) } as const
  }).pipe(
    Effect.catchSomeDefect((defect) => (isBodyRefusal(defect) ? Option.some(Effect.fail(defect)) : Option.none())),
    Effect.either
  )

const memberOf = (content: Either.Either<Content, BodyRefusal>, name: string): unknown => {
  if (Either.isLeft(content)) return undefined
  const { right } = content
  if (right._tag === "Form") return right.form.fields[name]
  return Predicate.hasProperty(right.value, name) ? right.value[name] : undefined
}

/** Which plugin is asked: the header's, the body's, or the usual one. */
export const pluginAsked = (
  request: Request,
  content: Either.Either<Content, BodyRefusal>
): Either.Either<PluginId, PluginIsUnknown | PluginInputIsInvalid> => {
  const named = request.headers["x-plugin-id"]?.trim() ?? memberOf(content, "plugin") ?? defaultPlugin
  if (typeof named !== "string") return Either.left(invalid("plugin", "Expected string"))
  return isPluginId(named) ? Either.right(named) : Either.left(new PluginIsUnknown())
}

const decoded = <A, I>(schema: Schema.Schema<A, I>, value: unknown) =>
  Effect.catchTag(Schema.decodeUnknown(schema)(value), "ParseError", HttpApiError.HttpApiDecodeError.refailParseError)

const dataUrl = /^data:([^,]{1,100});base64,/i
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

const withinSize = (audio: Uint8Array): Effect.Effect<Uint8Array, BodyIsTooLarge | PluginInputIsInvalid> => {
  if (audio.length === 0) return Effect.fail(invalid("audio", "is empty"))
  return audio.length > largestRecording ? new BodyIsTooLarge({ limit: largestRecording }) : Effect.succeed(audio)
}

const unnamed = "recording"
const untyped = "application/octet-stream"

const recordingInJson = (value: unknown) =>
  Effect.gen(function* () {
    const { audio: text, contentType, filename, ...rest } = yield* decoded(RecordingBody, value)
    const type = dataUrl.exec(text)
    const data = type === null ? text : text.slice(type[0].length)
    if (!base64.test(data)) return yield* invalid("audio", "must be base64, or data:<type>;base64,<data>")
    const audio = yield* withinSize(Buffer.from(data, "base64"))
    return { ...rest, audio, contentType: contentType ?? type?.[1] ?? untyped, filename: filename ?? unnamed }
  })

const recordingInForm = ({ fields, files }: Form) =>
  Effect.gen(function* () {
    const file = files.get("file")
    if (file === undefined) return yield* invalid("file", "is missing")
    const rest = yield* decoded(RecordingForm, fields)
    const audio = yield* withinSize(file.content)
    return {
      ...rest,
      audio,
      contentType: file.contentType === "" ? untyped : file.contentType,
      filename: file.name === "" ? unnamed : file.name
    }
  })

type InputError = HttpApiError.HttpApiDecodeError | PluginInputIsInvalid | BodyRefusal

const inputOf = (plugin: PluginId, content: Content): Effect.Effect<PluginInput, InputError> => {
  if (plugin === "stt")
    return Effect.map(
      content._tag === "Form" ? recordingInForm(content.form) : recordingInJson(content.value),
      (recording) => ({ plugin, recording })
    )
  if (content.bytes.length > defaultBodyLimit) return new BodyIsTooLarge({ limit: defaultBodyLimit })
  if (content._tag === "Form") return new MediaTypeIsUnsupported({ supported: ["application/json"] })
  switch (plugin) {
    case "generate-text":
      return Effect.map(decoded(TextBody, content.value), (body) => ({ plugin, request: chatRequest(body) }))
    case "agent":
      return Effect.map(decoded(AgentBody, content.value), ({ agentId, messages }) => ({
        plugin,
        messages: messages.map(chatMessage),
        agentId
      }))
    case "tts":
      return Effect.map(decoded(SpeechBody, content.value), (spoken) => ({ plugin, spoken }))
  }
}

const partsOf = ({ recording }: Extract<PluginInput, { plugin: "stt" }>) => {
  const { audio, ...rest } = recording
  return `${JSON.stringify(rest)}\n${Buffer.from(audio).toString("latin1")}`
}

/** The call that a body makes of a plugin. */
export const readCall = Effect.fnUntraced(function* (request: Request, plugin: PluginId, content: Content) {
  const input = yield* inputOf(plugin, content)
  const said =
    content._tag === "Form" && input.plugin === "stt" ? partsOf(input) : Buffer.from(content.bytes).toString("latin1")
  const wantsPieces = wantsEvents(request.headers["accept"]) || memberOf(Either.right(content), "stream") === true
  return {
    plugin,
    input,
    body: content.bytes,
    fingerprint: `${plugin}\n${said}`,
    streamed: plugins[plugin].streams && wantsPieces
  } satisfies GatewayCall
})
