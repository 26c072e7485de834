import { makeChatMessage, makeChatRequest } from "@berth/api/ai/ChatMessageMapping"
import { PluginNotFound } from "@berth/api/gateway/GatewayErrorBodies"
import { isPlainCall } from "@berth/api/ai/PayloadFastPath"
import { AgentBody, TextBody } from "@berth/api/gateway/plugins/PluginBodies"
import { BodyTooLarge, MediaTypeUnsupported } from "@berth/api/http/TransportErrors"
import { isPluginId, type PluginId, plugins } from "@berth/domain/gateway/plugins/Plugin"
import type { PluginInput } from "@berth/domain/gateway/PluginInput"
import { PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { maximumAudioBytes } from "@berth/domain/gateway/speech/SpeechLimits"
import type { HttpApiError, HttpServerRequest } from "@effect/platform"
import { Effect, Either, Predicate } from "effect"
import type { BodyFailure } from "../http/ListenerRequest.ts"
import { defaultBodyLimit } from "../http/RequestBody.ts"
import { acceptsEventStream } from "../http/SseResponse.ts"
import { type CallContent, makeDecoder } from "./CallContent.ts"
import { readSpeechRequest } from "./SpeechRequest.ts"

/** Maximum body: a recording in base64 with its fields. Other plugins use `defaultBodyLimit`. */
export const gatewayBodyLimit = Math.ceil(maximumAudioBytes / 3) * 4 + 64 * 1024

const defaultPlugin: PluginId = "generate-text"

export interface ReceivedCall {
  readonly plugin: PluginId
  readonly input: PluginInput
  /** Bytes of the body; a payment is bound to them. */
  readonly body: Uint8Array
  /** Identifies the call's content, regardless of a form's boundary. */
  readonly fingerprint: () => string
  readonly streamed: boolean
}

type Request = HttpServerRequest.HttpServerRequest

const invalid = (field: string, reason: string) => new PluginInputInvalid({ field, reason })

const memberOf = (content: Either.Either<CallContent, BodyFailure>, name: string): unknown => {
  if (Either.isLeft(content)) return undefined
  const { right } = content
  if (right._tag === "Form") return right.form.fields.get(name)
  return Predicate.hasProperty(right.value, name) ? right.value[name] : undefined
}

/** Returns the plugin of the header, else of the body, else the default. */
export const readPluginId = (
  request: Request,
  content: Either.Either<CallContent, BodyFailure>
): Either.Either<PluginId, PluginNotFound | PluginInputInvalid> => {
  const header = request.headers["x-plugin-id"]?.trim()
  const named = (header === "" ? undefined : header) ?? memberOf(content, "plugin") ?? defaultPlugin
  if (typeof named !== "string") return Either.left(invalid("plugin", "Expected string"))
  return isPluginId(named) ? Either.right(named) : Either.left(new PluginNotFound())
}

const decodeText = makeDecoder(TextBody)
const decodeTask = makeDecoder(AgentBody)

type InputError = HttpApiError.HttpApiDecodeError | PluginInputInvalid | BodyFailure

const inputOf = (plugin: PluginId, content: CallContent): Effect.Effect<PluginInput, InputError> => {
  if (plugin === "stt") return readSpeechRequest(plugin, content)
  if (content.bytes.length > defaultBodyLimit) return new BodyTooLarge({ limit: defaultBodyLimit })
  if (content._tag === "Form") return new MediaTypeUnsupported({ supported: ["application/json"] })
  switch (plugin) {
    case "generate-text": {
      const toInput = (body: typeof TextBody.Type): PluginInput => ({ plugin, request: makeChatRequest(body) })
      return isPlainCall(content.value)
        ? Effect.succeed(toInput(content.value))
        : Effect.map(decodeText(content.value), toInput)
    }
    case "agent":
      return Effect.map(decodeTask(content.value), ({ agentId, messages }) => ({
        plugin,
        messages: messages.map(makeChatMessage),
        agentId
      }))
    case "tts":
      return readSpeechRequest(plugin, content)
  }
}

const fingerprintRecording = ({ recording }: Extract<PluginInput, { plugin: "stt" }>) => {
  const { audio, ...rest } = recording
  return `${JSON.stringify(rest)}\n${Buffer.from(audio).toString("latin1")}`
}

export const readCall = Effect.fnUntraced(function* (request: Request, plugin: PluginId, content: CallContent) {
  const input = yield* inputOf(plugin, content)
  // Computed on demand: recordings are large, and most calls have no idempotency key.
  const readContent = () =>
    content._tag === "Form" && input.plugin === "stt"
      ? fingerprintRecording(input)
      : Buffer.from(content.bytes).toString("latin1")
  const wantsStream =
    acceptsEventStream(request.headers["accept"]) || memberOf(Either.right(content), "stream") === true
  return {
    plugin,
    input,
    body: content.bytes,
    fingerprint: () => `${plugin}\n${readContent()}`,
    streamed: plugins[plugin].streams && wantsStream
  } satisfies ReceivedCall
})
