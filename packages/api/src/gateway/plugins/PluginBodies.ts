import { Multipart } from "@effect/platform"
import { Schema } from "effect"
import { AiChatMessage, ChatPayload } from "../../ai/AiApi.ts"
import { namesFirstItem, payload } from "../../http/Payload.ts"
import { SttFields, TtsFields } from "../speech/SpeechFields.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

/*
 * Bodies of the plugins. Unknown members are ignored.
 */

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })
const plugin = <const Name extends string>(...names: ReadonlyArray<Name>) => Schema.optional(Schema.Literal(...names))

export const TextBody = ChatPayload

export const AgentBody = payload({
  messages: Schema.NonEmptyArray(AiChatMessage).annotations(namesFirstItem),
  agentId: optional(AgentId),
  stream: optional(Schema.Boolean)
}).annotations({ identifier: "AgentTask" })

/** A form with a recording, for documentation. */
export const RecordingFormBody = Schema.Struct({
  file: Multipart.SingleFileSchema,
  plugin: plugin("stt"),
  language: Schema.optional(Schema.String),
  prompt: Schema.optional(Schema.String),
  model: Schema.optional(Schema.String)
})

/** JSON bodies of all plugins, for documentation. `plugin` selects one. */
export const GatewayBody = Schema.Union(
  Schema.Struct({ plugin: plugin("generate-text"), ...TextBody.fields }),
  Schema.Struct({ plugin: Schema.Literal("agent"), ...AgentBody.fields }),
  Schema.Struct({ plugin: Schema.Literal("tts"), ...TtsFields.from.fields }),
  Schema.Struct({ plugin: Schema.Literal("stt"), ...SttFields.fields })
).annotations({ identifier: "GatewayCall" })

export const exampleGatewayBody = {
  plugin: "generate-text",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 100
}
