import { chatMessage, chatRequest } from "@berth/api/ai/ToChatMessage"
import { PluginIsUnknown } from "@berth/api/gateway/GatewayErrorBodies"
import { AgentBody, TextBody } from "@berth/api/gateway/PluginBodies"
import { BodyIsTooLarge, MediaTypeIsUnsupported } from "@berth/api/http/TransportErrors"
import { isPluginId, type PluginId, plugins } from "@berth/domain/gateway/Plugin"
import type { PluginInput } from "@berth/domain/gateway/PluginInput"
import { PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import { largestAudio } from "@berth/domain/gateway/speech/SpeechBounds"
import { HttpApiError, type HttpServerRequest } from "@effect/platform"
import { Effect, Either, Predicate, Schema } from "effect"
import { type BodyRefusal, defaultBodyLimit } from "../http/RequestBody.ts"
import { wantsEvents } from "../http/Sse.ts"
import type { CallContent } from "./CallContent.ts"
import { readSpeechRequest } from "./ReadSpeechRequest.ts"

/** The largest body of all, a recording in base64 with what stands beside it; of other plugins it is `defaultBodyLimit`. */
export const gatewayBodyLimit = Math.ceil(largestAudio / 3) * 4 + 64 * 1024

const defaultPlugin: PluginId = "generate-text"

/** A call of a plugin that can be carried out. */
export interface GatewayCall {
  readonly plugin: PluginId
  readonly input: PluginInput
  /** The bytes of the body, to which a payment is bound. */
  readonly body: Uint8Array
  /** Tells calls apart, whatever boundary a form has been given this time. */
  readonly fingerprint: () => string
  /** Whether the answer goes out piece by piece. */
  readonly streamed: boolean
}

type Request = HttpServerRequest.HttpServerRequest

const invalid = (field: string, reason: string) => new PluginInputIsInvalid({ field, reason })

const memberOf = (content: Either.Either<CallContent, BodyRefusal>, name: string): unknown => {
  if (Either.isLeft(content)) return undefined
  const { right } = content
  if (right._tag === "Form") return right.form.fields.get(name)
  return Predicate.hasProperty(right.value, name) ? right.value[name] : undefined
}

/** Which plugin is asked: the header's, the body's, or the usual one. */
export const pluginAsked = (
  request: Request,
  content: Either.Either<CallContent, BodyRefusal>
): Either.Either<PluginId, PluginIsUnknown | PluginInputIsInvalid> => {
  const named = request.headers["x-plugin-id"]?.trim() ?? memberOf(content, "plugin") ?? defaultPlugin
  if (typeof named !== "string") return Either.left(invalid("plugin", "Expected string"))
  return isPluginId(named) ? Either.right(named) : Either.left(new PluginIsUnknown())
}

const decoded = <A, I>(schema: Schema.Schema<A, I>, value: unknown) =>
  Effect.catchTag(Schema.decodeUnknown(schema)(value), "ParseError", HttpApiError.HttpApiDecodeError.refailParseError)

type InputError = HttpApiError.HttpApiDecodeError | PluginInputIsInvalid | BodyRefusal

const inputOf = (plugin: PluginId, content: CallContent): Effect.Effect<PluginInput, InputError> => {
  if (plugin === "stt") return readSpeechRequest(plugin, content)
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
      return readSpeechRequest(plugin, content)
  }
}

const partsOf = ({ recording }: Extract<PluginInput, { plugin: "stt" }>) => {
  const { audio, ...rest } = recording
  return `${JSON.stringify(rest)}\n${Buffer.from(audio).toString("latin1")}`
}

/** The call that a body makes of a plugin. */
export const readCall = Effect.fnUntraced(function* (request: Request, plugin: PluginId, content: CallContent) {
  const input = yield* inputOf(plugin, content)
  // A recording is large, and most calls have no key to be told apart by.
  const said = () =>
    content._tag === "Form" && input.plugin === "stt" ? partsOf(input) : Buffer.from(content.bytes).toString("latin1")
  const wantsPieces = wantsEvents(request.headers["accept"]) || memberOf(Either.right(content), "stream") === true
  return {
    plugin,
    input,
    body: content.bytes,
    fingerprint: () => `${plugin}\n${said()}`,
    streamed: plugins[plugin].streams && wantsPieces
  } satisfies GatewayCall
})
