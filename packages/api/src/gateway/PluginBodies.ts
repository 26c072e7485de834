import { AgentId } from "@berth/domain/agents/Agent"
import { Multipart } from "@effect/platform"
import { Schema } from "effect"
import { AiChatMessage, ChatPayload } from "../ai/AiApi.ts"
import { ModelName, payload } from "../http/Payload.ts"

/*
 * What each plugin takes. Members that stand in none of them are ignored.
 */

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })
const plugin = <const Name extends string>(...names: ReadonlyArray<Name>) => Schema.optional(Schema.Literal(...names))

/** A plugin speaks this much for its price. */
export const longestSpeech = 4_096
/** The largest recording, in bytes. */
export const largestRecording = 25 * 1024 * 1024

export const TextBody = ChatPayload

export const AgentBody = payload({
  messages: Schema.NonEmptyArray(AiChatMessage),
  agentId: optional(AgentId),
  stream: optional(Schema.Boolean)
}).annotations({ identifier: "AgentTask" })

const word = Schema.String.pipe(Schema.maxLength(100))
const Spoken = Schema.String.pipe(
  Schema.filter((text) => text.trim() !== "" && text.length <= longestSpeech, {
    message: () => `must have 1 to ${longestSpeech} characters`
  })
).annotations({ jsonSchema: { minLength: 1, maxLength: longestSpeech } })

export const SpeechBody = payload({
  text: Spoken,
  voice: optional(word),
  format: optional(word),
  speed: optional(Schema.Number.pipe(Schema.between(0.25, 4))),
  model: optional(ModelName)
}).annotations({ identifier: "SpokenText" })

const recordingFields = {
  language: optional(Schema.String.pipe(Schema.pattern(/^[a-z]{2}$/))),
  prompt: optional(Schema.String.pipe(Schema.maxLength(2_000))),
  model: optional(ModelName)
}

/** A recording in JSON. */
export const RecordingBody = payload({
  audio: Schema.String.annotations({ description: "Base64, or data:<type>;base64,<data>" }),
  contentType: optional(word).annotations({ description: "audio/wav and the like, where `audio` does not say it" }),
  filename: optional(Schema.String.pipe(Schema.maxLength(255))),
  ...recordingFields
}).annotations({ identifier: "Recording" })

/** What stands beside the file in a form. */
export const RecordingForm = payload(recordingFields)

/** The same as documentation of the form. */
export const RecordingFormBody = Schema.Struct({
  file: Multipart.SingleFileSchema,
  plugin: plugin("stt"),
  language: Schema.optional(Schema.String),
  prompt: Schema.optional(Schema.String),
  model: Schema.optional(Schema.String)
})

/** All bodies in JSON, as documentation: which of them it is, the plugin says. */
export const GatewayBody = Schema.Union(
  Schema.Struct({ plugin: plugin("generate-text"), ...TextBody.fields }),
  Schema.Struct({ plugin: Schema.Literal("agent"), ...AgentBody.fields }),
  Schema.Struct({ plugin: Schema.Literal("tts"), ...SpeechBody.fields }),
  Schema.Struct({ plugin: Schema.Literal("stt"), ...RecordingBody.fields })
).annotations({ identifier: "GatewayCall" })

/** A body that is good for the default plugin. */
export const exampleBody = {
  plugin: "generate-text",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 100
}
