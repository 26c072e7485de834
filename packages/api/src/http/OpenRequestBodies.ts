import { Predicate } from "effect"
import { mapRecord, recordOf } from "./OpenApiExamples.ts"

type Document = Readonly<Record<string, unknown>>

const reference = /#\/components\/schemas\/([\w.-]+)/g

/** The names of components that a part of a document refers to, directly or by others. */
const findReferred = (part: unknown, schemas: Document, found = new Set<string>()): ReadonlySet<string> => {
  for (const [, name = ""] of JSON.stringify(part).matchAll(reference)) {
    if (found.has(name)) continue
    found.add(name)
    findReferred(schemas[name] ?? null, schemas, found)
  }
  return found
}

/** Removes what closes objects, except where unknown members are refused. */
const openMembers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(openMembers)
  if (!Predicate.isRecord(value) || value["unevaluatedProperties"] === false) return value
  const members = mapRecord(value, openMembers)
  const { additionalProperties, ...open } = members
  return additionalProperties === false ? open : members
}

/** Opens the schemas of request bodies, in which the service ignores unknown members; of components in responses too. */
export const openRequestBodies = (paths: Document, schemas: Document) => {
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
    schemas: mapRecord(schemas, (schema, name) => (names.has(name) ? openMembers(schema) : schema))
  }
}
