import { HttpApiSchema, OpenApi } from "@effect/platform"
import { JSONSchema, Predicate, type Schema } from "effect"
import { describeOperations } from "./OpenApiTexts.ts"
import {
  BodyTooLargeBody,
  HeadersTooLargeBody,
  MediaTypeUnsupportedBody,
  OriginNotAllowedBody
} from "./TransportErrors.ts"

type Document = Readonly<Record<string, unknown>>

const schemaPrefix = "#/components/schemas/"

type Definitions = Record<string, JSONSchema.JsonSchema7>

interface ApiDescription {
  /** Whether unsafe methods of foreign pages are rejected. */
  readonly hasOriginCheck: boolean
  /** Added to those of the middleware. */
  readonly securitySchemes?: Document
  /** Describes outbound requests, with their schemas in `definitions`. */
  readonly webhooks?: (definitions: Definitions, definitionPath: string) => Document
}

/** Annotations of both contracts. */
export const describeApi = (
  info: { readonly title: string; readonly description: string },
  description: ApiDescription
) =>
  OpenApi.annotations({
    ...info,
    version: "1.0.0",
    servers: [{ url: "/", description: "The origin of this document" }],
    transform: (document) => describeOperations(complete(removeIds(document), description))
  })

/** Effect gives every unknown value the same `$id`; ids must be unique in a document. */
const removeIds = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(removeIds)
  if (!Predicate.isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) =>
      key === "$id" && typeof member === "string" ? [] : [[key, removeIds(member)]]
    )
  )
}

const safeMethods = new Set(["get", "head", "options"])

/** Adds the responses that the pipeline gives before an endpoint, security schemes and webhooks. */
const complete = (
  document: unknown,
  { hasOriginCheck, securitySchemes: added, webhooks }: ApiDescription
): Document => {
  if (!Predicate.isRecord(document)) return {}
  const definitions: Definitions = {}
  const outbound = webhooks === undefined ? {} : { webhooks: webhooks(definitions, schemaPrefix) }
  const always = [HeadersTooLargeBody]
  const withBody = [BodyTooLargeBody, MediaTypeUnsupportedBody]
  const unsafe = hasOriginCheck ? [OriginNotAllowedBody] : []
  const addErrors = (method: string, operation: unknown) => {
    if (!Predicate.isRecord(operation)) return operation
    const bodies = [
      ...always,
      ...(operation["requestBody"] === undefined ? [] : withBody),
      ...(safeMethods.has(method) ? [] : unsafe)
    ]
    const responses = Predicate.isRecord(operation["responses"]) ? operation["responses"] : {}
    return {
      ...operation,
      responses: bodies.reduce<Readonly<Record<string, unknown>>>(
        (all, body) => addResponse(all, body, definitions),
        responses
      )
    }
  }
  const paths = mapRecord(document["paths"], (item) =>
    mapRecord(item, (operation, method) => addErrors(method, operation))
  )
  const components = Predicate.isRecord(document["components"]) ? document["components"] : {}
  const schemas = Predicate.isRecord(components["schemas"]) ? components["schemas"] : {}
  const declared = Predicate.isRecord(components["securitySchemes"]) ? components["securitySchemes"] : {}
  const securitySchemes = { ...declared, ...added }
  return {
    ...document,
    ...outbound,
    paths,
    components: { ...components, securitySchemes, schemas: { ...definitions, ...schemas } }
  }
}

const mapRecord = (value: unknown, change: (member: unknown, key: string) => unknown) =>
  Predicate.isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member, key)]))
    : value

/** Adds the body of an error to the responses; a status that is there gets an alternative. */
const addResponse = (
  responses: Readonly<Record<string, unknown>>,
  body: Schema.Schema.All,
  definitions: Definitions
): Readonly<Record<string, unknown>> => {
  const status = String(HttpApiSchema.getStatusError(body))
  const added = JSONSchema.fromAST(body.ast, { definitions, definitionPath: schemaPrefix, target: "openApi3.1" })
  const known = responses[status]
  const content = Predicate.isRecord(known) && Predicate.isRecord(known["content"]) ? known["content"] : {}
  const json = content["application/json"]
  const schema = Predicate.isRecord(json) ? { anyOf: [json["schema"], added] } : added
  return {
    ...responses,
    [status]: {
      description: "Error",
      ...(Predicate.isRecord(known) ? known : {}),
      content: { ...content, "application/json": { schema } }
    }
  }
}
