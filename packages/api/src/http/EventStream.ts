import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { itemsOf, recordOf } from "./OpenApiExamples.ts"

const eventStreamType = "text/event-stream"

/** Body of a streamed response. Next to another success, it is a separate media type in the document. */
export const EventStream = HttpApiSchema.withEncoding(Schema.String, {
  kind: "Text",
  contentType: eventStreamType
}).annotations({ identifier: "EventStream", description: "Server-sent events" })

const isEventStream = (schema: unknown) => recordOf(schema)["$ref"] === "#/components/schemas/EventStream"

/** Moves server-sent events out of the JSON alternatives, in which responses of one status share a media type. */
export const separateEventStream = (response: unknown): unknown => {
  const content = recordOf(recordOf(response)["content"])
  for (const [type, media] of Object.entries(content)) {
    const alternatives = itemsOf(recordOf(recordOf(media)["schema"])["anyOf"])
    const stream = alternatives.find(isEventStream)
    if (stream === undefined) continue
    const [first, ...others] = alternatives.filter((alternative) => !isEventStream(alternative))
    const schema = others.length === 0 ? first : { anyOf: [first, ...others] }
    return {
      ...recordOf(response),
      description: "JSON, or server-sent events",
      content: { ...content, [type]: { ...recordOf(media), schema }, [eventStreamType]: { schema: stream } }
    }
  }
  return response
}
