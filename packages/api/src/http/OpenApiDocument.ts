import { HttpApiSchema, OpenApi } from "@effect/platform"
import { JSONSchema, Predicate, type Schema } from "effect"
import { IdempotencyKeyReusedBody, maximumIdempotencyKeyLength } from "../limits/IdempotencyErrors.ts"
import { separateEventStream } from "./EventStream.ts"
import { errorShape } from "./OpenApiErrorShape.ts"
import { itemsOf, mapRecord, recordOf } from "./OpenApiExamples.ts"
import { healthDocument } from "./HealthDocument.ts"
import { describeOperations } from "./OpenApiTexts.ts"
import { openSchemas } from "./OpenSchemas.ts"
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
  /** Whether unsafe methods from pages of other origins are rejected. */
  readonly hasOriginCheck: boolean
  /** In addition to those of the middleware. */
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
    transform: (document) => describeOperations(complete(addHealth(correctSchemas(document)), description))
  })

const addHealth = (document: unknown): unknown => {
  if (!Predicate.isRecord(document)) return document
  const { paths, tags } = document
  return {
    ...document,
    tags: [...itemsOf(tags), ...healthDocument.tags],
    paths: { ...recordOf(paths), ...healthDocument.paths }
  }
}

/**
 * Removes `$id`, which must be unique but is the same for every unknown value, and `$schema`, which names an older
 * draft. Replaces `items: false` of a closed tuple with a maximum, since linters misread it.
 */
const correctSchemas = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(correctSchemas)
  if (!Predicate.isRecord(value)) return value
  const { items, prefixItems } = value
  const members = Object.entries(value).flatMap(([key, member]): ReadonlyArray<readonly [string, unknown]> =>
    (key === "$id" || key === "$schema") && Predicate.isString(member) ? [] : [[key, correctSchemas(member)]]
  )
  const closed = Array.isArray(prefixItems) && items === false ? { items: {}, maxItems: prefixItems.length } : {}
  return { ...Object.fromEntries(members), ...closed }
}

const safeMethods = new Set(["get", "head", "options"])

/** Response of operations that only redirect, since an operation requires a success or a redirect. */
const redirectTarget = { description: "The page at the redirect target" }

/** Header of all operations with errors of `Idempotency-Key`. */
const idempotencyKey = {
  name: "idempotency-key",
  in: "header",
  required: false,
  description:
    "For a day, repetitions with the same key and body receive the first successful response; with another body they return 422",
  schema: { type: "string", minLength: 1, maxLength: maximumIdempotencyKeyLength }
}
const reusedStatus = String(HttpApiSchema.getStatusError(IdempotencyKeyReusedBody))

const addIdempotencyKey = (operation: Document): Document => {
  const responses = recordOf(operation["responses"])
  if (!JSON.stringify(responses[reusedStatus] ?? null).includes(`${schemaPrefix}IdempotencyKeyReused"`))
    return operation
  const declared: ReadonlyArray<unknown> = Array.isArray(operation["parameters"]) ? operation["parameters"] : []
  const others = declared.filter(
    (parameter) => !Predicate.isRecord(parameter) || parameter["name"] !== idempotencyKey.name
  )
  return { ...operation, parameters: [...others, idempotencyKey] }
}

/** Adds the pipeline's responses before an endpoint, security schemes and webhooks. */
const complete = (
  document: unknown,
  { hasOriginCheck, securitySchemes: added, webhooks }: ApiDescription
): Document => {
  if (!Predicate.isRecord(document)) return {}
  const definitions: Definitions = {}
  const outbound = webhooks === undefined ? {} : { webhooks: webhooks(definitions, schemaPrefix) }
  const withBody = [BodyTooLargeBody, MediaTypeUnsupportedBody]
  const unsafe = hasOriginCheck ? [OriginNotAllowedBody] : []
  const addErrors = (method: string, declared: unknown) => {
    if (!Predicate.isRecord(declared)) return declared
    const { [errorShape]: shape, ...operation } = addIdempotencyKey(declared)
    const bodies = [
      ...(operation["requestBody"] === undefined ? [] : withBody),
      ...(safeMethods.has(method) ? [] : unsafe)
    ]
    const declaredResponses = recordOf(operation["responses"])
    const refusals = bodies.reduce<Readonly<Record<string, unknown>>>(
      (all, body) => (shape === undefined ? addResponse(all, body, definitions) : addShaped(all, body, shape)),
      declaredResponses
    )
    // The parser responds before a path is read.
    const responses = mapRecord(addResponse(refusals, HeadersTooLargeBody, definitions), separateEventStream)
    const redirects = !Object.keys(declaredResponses).some((status) => status.startsWith("2"))
    return { ...operation, responses: redirects ? { ...responses, default: redirectTarget } : responses }
  }
  const described = mapRecord(document["paths"], (item) =>
    mapRecord(item, (operation, method) => addErrors(method, operation))
  )
  const components = recordOf(document["components"])
  const declared = recordOf(components["securitySchemes"])
  const securitySchemes = { ...declared, ...added }
  const { paths, schemas } = openSchemas(described, { ...definitions, ...recordOf(components["schemas"]) })
  return { ...document, ...outbound, paths, components: { ...components, securitySchemes, schemas } }
}

/** Adds the status of an error whose body has the format of another protocol. */
const addShaped = (responses: Readonly<Record<string, unknown>>, body: Schema.Schema.All, content: unknown) => ({
  [String(HttpApiSchema.getStatusError(body))]: { description: "Error", content },
  ...responses
})

/** Adds the body of an error to the responses; an existing status gets an alternative. */
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
