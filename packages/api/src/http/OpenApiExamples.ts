import { Predicate } from "effect"

type Json = Readonly<Record<string, unknown>>

export const recordOf = (value: unknown): Json => (Predicate.isRecord(value) ? value : {})
export const mapRecord = (value: unknown, change: (member: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(recordOf(value)).map(([key, member]) => [key, change(member, key)]))
export const itemsOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const exampleTime = "2026-03-01T12:00:00.000Z"

/** Texts of members whose name is more specific than their type. */
const namedTexts: ReadonlyArray<readonly [RegExp, string]> = [
  [/email/i, "ada@example.com"],
  [/At$|timestamp|periodEnd/, exampleTime],
  [/websocketUrl/, "wss://berth.example/agents/agt_1/ws"],
  [/url$|uri$|origin|callback|redirect/i, "https://example.com/"],
  [/address|wallet|recipient/i, "0x52908400098527886E0F7030069857D2E4169EE7"],
  [/^cron$|heartbeat/, "0 9 * * 1"],
  [/time.?zone/i, "Europe/London"],
  [/agentId/, "agt_01jn8z5t7v"],
  [/userId|ownerId/, "usr_01jn8z5t7v"],
  [/sessionId/, "chs_01jn8z5t7v"],
  [/id$/i, "id_01jn8z5t7v"],
  [/password/i, "correct horse battery"],
  [/model/i, "anthropic/claude-opus-4-6"],
  [/name/i, "Ada"],
  [/message|reply|content|prompt|text/i, "What is the weather like at sea?"]
]

const makeText = (name: string, schema: Json): string => {
  const text = schema["format"] === "date-time" ? exampleTime : namedTexts.find(([pattern]) => pattern.test(name))?.[1]
  const usable =
    text !== undefined && (!Predicate.isString(schema["pattern"]) || new RegExp(schema["pattern"], "u").test(text))
  const base = usable ? text : "example"
  const { maxLength, minLength } = schema
  const long = base.padEnd(Predicate.isNumber(minLength) ? minLength : 0, "0")
  return Predicate.isNumber(maxLength) ? long.slice(0, maxLength) : long
}

const makeNumber = ({ exclusiveMinimum, maximum, minimum }: Json): number => {
  const least = Predicate.isNumber(exclusiveMinimum) ? exclusiveMinimum + 1 : minimum
  const number = Predicate.isNumber(least) ? Math.max(least, 1) : 1
  return Predicate.isNumber(maximum) ? Math.min(number, maximum) : number
}

const isNull = (schema: unknown) => recordOf(schema)["type"] === "null"

/** Makes a value that the schema accepts; `undefined` for a recursive schema. `schemas`: components of the document. */
export const makeExample = (schema: unknown, schemas: Json, name = "", outer: ReadonlyArray<string> = []): unknown => {
  const node = recordOf(schema)
  const { $ref, allOf, anyOf, enum: values, examples, items, oneOf, type } = node
  const next = (inner: unknown, of = name) => makeExample(inner, schemas, of, outer)
  if (Predicate.isString($ref)) {
    const target = $ref.split("/").at(-1) ?? ""
    return outer.includes(target) ? undefined : makeExample(schemas[target], schemas, name, [...outer, target])
  }
  if (examples !== undefined) return itemsOf(examples)[0]
  if (values !== undefined) return itemsOf(values)[0]
  const alternatives = [...itemsOf(anyOf), ...itemsOf(oneOf)]
  if (alternatives.length > 0) return next(alternatives.find((alternative) => !isNull(alternative)) ?? { type: "null" })
  // For a single schema with a separate description.
  const [described] = itemsOf(allOf)
  if (described !== undefined && type === undefined) return next(described)
  switch (type) {
    case "string":
      return makeText(name, node)
    case "number":
    case "integer":
      return makeNumber(node)
    case "boolean":
      return true
    case "null":
      return null
    case "array": {
      const first = node["prefixItems"] ?? (items === undefined ? [] : [items])
      return itemsOf(first).flatMap((item) => {
        const value = next(item)
        return value === undefined ? [] : [value]
      })
    }
    default:
      return makeObject(node, next)
  }
}

const makeObject = (schema: Json, next: (inner: unknown, name: string) => unknown): Json => {
  const members = Object.entries(recordOf(schema["properties"])).flatMap(
    ([name, inner]): ReadonlyArray<readonly [string, unknown]> => {
      const value = next(inner, name)
      return value === undefined ? [] : [[name, value]]
    }
  )
  return Object.fromEntries(members)
}
