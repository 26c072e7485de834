import { Predicate, String as Text } from "effect"
import { addOpenAiExamples } from "../ai/OpenAiErrors.ts"
import { itemsOf, makeExample, mapRecord, recordOf } from "./OpenApiExamples.ts"
import { requestExamples } from "./RequestExamples.ts"

type Document = Readonly<Record<string, unknown>>

const jsonType = "application/json"

const credentials: Readonly<Record<string, string>> = {
  session: "a session",
  apiKey: "an API key",
  jwt: "a JWT",
  internal: "the internal key",
  runtimeToken: "a runtime token"
}

const describeAccess = (operation: Document): string => {
  const schemes = itemsOf(operation["security"]).map((requirement) => Object.keys(recordOf(requirement)))
  const names = schemes.flat().map((name) => credentials[name] ?? name)
  if (names.length === 0) return "Needs no authentication."
  const scope = operation["x-required-scope"]
  return [
    `${schemes.some((scheme) => scheme.length === 0) ? "Takes" : "Needs"} ${names.join(" or ")}.`,
    ...(Predicate.isString(scope) ? [`The API key has the scope \`${scope}\`.`] : [])
  ].join(" ")
}

/** Adds an example to a JSON body without one. */
const addExample = (content: unknown, schemas: Document, fixedExample?: unknown) =>
  mapRecord(content, (json, type) => {
    if (!type.endsWith("json") || !Predicate.isRecord(json) || "example" in json || "examples" in json) return json
    const example = fixedExample ?? makeExample(json["schema"], schemas)
    return example === undefined ? json : { ...json, example }
  })

/** Returns the components of a schema's alternatives. */
const namesOf = (schema: unknown): ReadonlyArray<string> => {
  const { $ref, allOf, anyOf } = recordOf(schema)
  return Predicate.isString($ref)
    ? [$ref.split("/").at(-1) ?? ""]
    : [...itemsOf(anyOf), ...itemsOf(allOf)].flatMap(namesOf)
}

const exampleOf = (schema: unknown) => itemsOf(recordOf(schema)["examples"])[0]

const isError = (schema: unknown) => "traceId" in recordOf(recordOf(schema)["properties"])

/** Returns the names of a response content's errors that have an example. */
const errorsOf = (content: unknown, schemas: Document) =>
  namesOf(recordOf(recordOf(content)[jsonType])["schema"]).filter(
    (name) => isError(schemas[name]) && exampleOf(schemas[name]) !== undefined
  )

/** References the examples of all errors that the body can be. */
const addErrorExamples = (content: unknown, schemas: Document) => {
  const json = recordOf(recordOf(content)[jsonType])
  const references = errorsOf(content, schemas).map((name): readonly [string, Document] => [
    name,
    { $ref: `#/components/examples/${name}` }
  ])
  return references.length === 0
    ? addExample(content, schemas)
    : {
        ...recordOf(content),
        [jsonType]: { ...json, examples: { ...recordOf(json["examples"]), ...Object.fromEntries(references) } }
      }
}

const describeOperation = (endpoint: unknown, schemas: Document): Document => {
  const operation = addOpenAiExamples(recordOf(endpoint), (content) =>
    errorsOf(content, schemas).map((name) => recordOf(exampleOf(schemas[name])))
  )
  const { operationId, requestBody, responses } = operation
  return {
    ...operation,
    description: operation["description"] ?? `${String(operation["summary"])}. ${describeAccess(operation)}`,
    ...(Predicate.isRecord(requestBody) && {
      requestBody: {
        ...requestBody,
        content: addExample(requestBody["content"], schemas, requestExamples[String(operationId)])
      }
    }),
    responses: mapRecord(responses, (response, status) =>
      Predicate.isRecord(response) && "content" in response
        ? {
            ...response,
            content: (status.startsWith("2") ? addExample : addErrorExamples)(response["content"], schemas)
          }
        : response
    )
  }
}

/** Whether a part of a document references a component. */
const isUsed = (part: Document, kind: "schemas" | "examples") => {
  const references = new Set(JSON.stringify(part).match(new RegExp(`#/components/${kind}/[\\w.-]+`, "g")))
  return (name: string) => references.has(`#/components/${kind}/${name}`)
}

/** Removes duplicate alternatives, declared by two endpoints of a path. */
const removeRepeated = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(removeRepeated)
  if (!Predicate.isRecord(value)) return value
  const { anyOf, ...rest } = mapRecord(value, removeRepeated)
  if (!Array.isArray(anyOf)) return anyOf === undefined ? rest : { ...rest, anyOf }
  const [first, ...others] = new Map(
    itemsOf(anyOf).map((alternative) => [JSON.stringify(alternative), alternative])
  ).values()
  return others.length === 0 ? { ...recordOf(first), ...rest } : { ...rest, anyOf: [first, ...others] }
}

const properNames = new Map([
  ["open ai", "OpenAI"],
  ["oauth", "OAuth"],
  ["a2a", "A2A"],
  ["ai", "AI"],
  ["api", "API"],
  ["mcp", "MCP"]
])
const anyProperName = new RegExp(`\\b(${[...properNames.keys()].join("|")})\\b`, "g")

/** `apiKeys` as `API keys`. */
const splitWords = (name: string) =>
  name
    .replaceAll(/(?=[A-Z])/g, " ")
    .toLowerCase()
    .replaceAll(anyProperName, (found) => properNames.get(found) ?? found)

const describeTag = (tag: unknown) => {
  const words = splitWords(String(recordOf(tag)["name"]))
  return { "x-displayName": Text.capitalize(words), description: `Operations of ${words}`, ...recordOf(tag) }
}

/** Adds summary, description and examples to every operation, examples to errors, and descriptions to tags. Pure. */
export const describeOperations = (draft: Document): Document => {
  const document = recordOf(removeRepeated(draft))
  const components = recordOf(document["components"])
  const all = recordOf(components["schemas"])
  const examples = Object.fromEntries(
    Object.entries(all).flatMap(([name, schema]) => {
      const value = exampleOf(schema)
      return isError(schema) && value !== undefined ? [[name, { summary: recordOf(value)["error"], value }]] : []
    })
  )
  const paths = mapRecord(document["paths"], (item) =>
    mapRecord(item, (operation) => describeOperation(operation, all))
  )
  const isReferred = isUsed(paths, "examples")
  const used = isUsed({ ...document, paths }, "schemas")
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used(name)))
  return {
    ...document,
    info: {
      ...recordOf(document["info"]),
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "The operator of this service" }
    },
    tags: itemsOf(document["tags"]).map(describeTag),
    paths,
    components: {
      ...components,
      schemas,
      examples: Object.fromEntries(Object.entries(examples).filter(([name]) => isReferred(name)))
    }
  }
}
