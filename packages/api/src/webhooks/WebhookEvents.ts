import { DomainEvent } from "@berth/domain/events/DomainEvent"
import { JSONSchema, Option, Schema, SchemaAST } from "effect"

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" }
})

const headers = [
  header("webhook-id", "The delivery: the same at every attempt"),
  header("webhook-timestamp", "Seconds since 1970 of the attempt"),
  header("webhook-signature", "`v1,` and the HMAC-SHA256 of id, timestamp and body; one per valid secret, after spaces")
]

const responses = {
  "200": { description: "Received. Statuses from 200 to 299 count as success; all others are repeated." },
  "410": { description: "Disables the endpoint." }
}

/** The section `webhooks` of OpenAPI 3.1: requests to receivers (Standard Webhooks). */
export const describeWebhooks = (
  definitions: Record<string, JSONSchema.JsonSchema7>,
  definitionPath: string
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    DomainEvent.members.map(({ ast, fields }) => {
      const name = fields.kind.literals[0]
      const payload = Schema.Struct({ type: fields.kind, timestamp: Schema.DateTimeUtc, data: fields.data })
      const schema = JSONSchema.fromAST(payload.ast, { definitions, definitionPath, target: "openApi3.1" })
      const summary = Option.getOrElse(SchemaAST.getDescriptionAnnotation(ast), () => name)
      const requestBody = { required: true, content: { "application/json": { schema } } }
      return [name, { post: { operationId: name, summary, parameters: headers, requestBody, responses } }]
    })
  )
