import { Predicate } from "effect"
import { itemsOf, makeErrorExample, makeExample, recordOf } from "./OpenApiExamples.ts"
import { operationSummaries } from "./OperationSummaries.ts"

type Document = Readonly<Record<string, unknown>>

const mapRecord = (value: unknown, change: (member: unknown, key: string) => unknown): Document =>
  Object.fromEntries(Object.entries(recordOf(value)).map(([key, member]) => [key, change(member, key)]))

const jsonType = "application/json"

const credentials: Readonly<Record<string, string>> = {
  session: "a session",
  apiKey: "an API key",
  jwt: "a JWT",
  internal: "the internal key",
  runtimeToken: "a runtime token"
}

const describeAccess = (operation: Document): string => {
  const schemes = itemsOf(operation["security"]).map((one) => Object.keys(recordOf(one)))
  const names = schemes.flat().map((name) => credentials[name] ?? name)
  if (names.length === 0) return "Needs no authentication."
  const scope = operation["x-required-scope"]
  return [
    `${schemes.some((one) => one.length === 0) ? "Takes" : "Needs"} ${names.join(" or ")}.`,
    ...(Predicate.isString(scope) ? [`The API key has the scope \`${scope}\`.`] : [])
  ].join(" ")
}

/** Adds an example to a JSON body that has none. */
const addExample = (content: unknown, schemas: Document) => {
  const json = recordOf(content)[jsonType]
  if (!Predicate.isRecord(json) || "example" in json || "examples" in json) return content
  const example = makeExample(json["schema"], schemas)
  return example === undefined ? content : { ...recordOf(content), [jsonType]: { ...json, example } }
}

const describeOperation = (endpoint: unknown, schemas: Document): Document => {
  const operation = recordOf(endpoint)
  const { operationId, requestBody, responses } = operation
  const given = operation["summary"]
  const summary = Predicate.isString(given) ? given : (operationSummaries[String(operationId)] ?? "")
  return {
    ...operation,
    summary,
    description: operation["description"] ?? `${summary}. ${describeAccess(operation)}`,
    ...(Predicate.isRecord(requestBody) && {
      requestBody: { ...requestBody, content: addExample(requestBody["content"], schemas) }
    }),
    responses: mapRecord(responses, (response, status) =>
      Predicate.isRecord(response) && status.startsWith("2") && "content" in response
        ? { ...response, content: addExample(response["content"], schemas) }
        : response
    )
  }
}

/** The short sentences of errors, which the responses hold beside the references. */
const findSentences = (value: unknown, found: Map<string, string> = new Map()): ReadonlyMap<string, string> => {
  if (Array.isArray(value)) for (const one of value) findSentences(one, found)
  if (!Predicate.isRecord(value)) return found
  const [only] = itemsOf(value["allOf"])
  const reference = recordOf(only)["$ref"]
  if (Predicate.isString(reference) && Predicate.isString(value["description"]))
    found.set(reference.split("/").at(-1) ?? "", value["description"])
  for (const member of Object.values(value)) findSentences(member, found)
  return found
}

const isUsed = (document: Document) => {
  const references = new Set(JSON.stringify(document).match(/#\/components\/schemas\/[\w.-]+/g))
  return (name: string) => references.has(`#/components/schemas/${name}`)
}

/** Alternatives that two endpoints of one path declare are there twice. */
const removeRepeated = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(removeRepeated)
  if (!Predicate.isRecord(value)) return value
  const { anyOf, ...rest } = mapRecord(value, removeRepeated)
  if (!Array.isArray(anyOf)) return anyOf === undefined ? rest : { ...rest, anyOf }
  const [first, ...others] = new Map(itemsOf(anyOf).map((one) => [JSON.stringify(one), one])).values()
  return others.length === 0 ? { ...recordOf(first), ...rest } : { ...rest, anyOf: [first, ...others] }
}

const splitWords = (name: string) => name.replaceAll(/(?=[A-Z])/g, " ").toLowerCase()

/** Adds summary, description and examples to every operation, examples to errors, and descriptions to tags. Pure. */
export const describeOperations = (given: Document): Document => {
  const document = recordOf(removeRepeated(given))
  const components = recordOf(document["components"])
  const sentences = findSentences(document["paths"])
  const used = isUsed(document)
  const known = Object.fromEntries(Object.entries(recordOf(components["schemas"])).filter(([name]) => used(name)))
  const schemas = mapRecord(known, (schema, name) => {
    const { description, properties } = recordOf(schema)
    const sentence = sentences.get(name) ?? description
    return Predicate.isString(sentence) && "traceId" in recordOf(properties)
      ? { ...recordOf(schema), examples: [makeErrorExample(schema, known, sentence)] }
      : schema
  })
  return {
    ...document,
    info: {
      ...recordOf(document["info"]),
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "The operator of this service" }
    },
    tags: itemsOf(document["tags"]).map((tag) => ({
      description: `Operations of ${splitWords(String(recordOf(tag)["name"]))}`,
      ...recordOf(tag)
    })),
    paths: mapRecord(document["paths"], (item) => mapRecord(item, (operation) => describeOperation(operation, known))),
    components: { ...components, schemas }
  }
}
