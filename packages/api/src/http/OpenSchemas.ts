import { Predicate } from "effect"
import { mapRecord, recordOf } from "./OpenApiExamples.ts"

type Document = Readonly<Record<string, unknown>>

const reference = /#\/components\/schemas\/([\w.-]+)/g

/** Returns the names of components that a part of a document references, directly or indirectly. */
const findReferred = (part: unknown, schemas: Document, found = new Set<string>()): ReadonlySet<string> => {
  for (const [, name = ""] of JSON.stringify(part).matchAll(reference)) {
    if (found.has(name)) continue
    found.add(name)
    findReferred(schemas[name] ?? null, schemas, found)
  }
  return found
}

/** Removes restrictions of unknown members, except where they are rejected. */
const openMembers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(openMembers)
  if (!Predicate.isRecord(value) || value["unevaluatedProperties"] === false) return value
  const members = mapRecord(value, openMembers)
  const { additionalProperties, ...open } = members
  return additionalProperties === false ? open : members
}

const isErrorBody = (schema: unknown) => {
  const members = recordOf(recordOf(schema)["properties"])
  return ["error", "message", "code", "traceId"].every((name) => members[name] !== undefined)
}

/**
 * Opens the schemas of request bodies, in which the service ignores unknown members, including components shared with
 * responses, and of error bodies, to which groups of operations add members.
 */
export const openSchemas = (paths: Document, schemas: Document) => {
  const opened = mapRecord(paths, (item) =>
    mapRecord(item, (operation) => {
      const { requestBody } = recordOf(operation)
      return requestBody === undefined ? operation : { ...recordOf(operation), requestBody: openMembers(requestBody) }
    })
  )
  const bodies = Object.values(opened).flatMap((item) =>
    Object.values(recordOf(item)).map((operation) => recordOf(operation)["requestBody"] ?? null)
  )
  const names = findReferred(bodies, schemas)
  return {
    paths: opened,
    schemas: mapRecord(schemas, (schema, name) =>
      names.has(name) || isErrorBody(schema) ? openMembers(schema) : schema
    )
  }
}
