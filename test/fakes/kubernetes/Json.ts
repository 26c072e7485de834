import { Predicate, Schema } from "effect"

export type JsonObject = { [name: string]: unknown }

export const isObject = (value: unknown): value is JsonObject => Predicate.isRecord(value)

export const parseJson = Schema.decodeUnknownSync(Schema.parseJson(Schema.Unknown))
const parseObjectJson = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
)

/** A mutable copy. */
export const copy = (value: object): JsonObject => ({ ...parseObjectJson(JSON.stringify(value)) })

export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value)

export const textAt = (value: unknown, ...path: ReadonlyArray<string>): string => {
  const found = at(value, ...path)
  return typeof found === "string" ? found : ""
}

export const numberAt = (value: unknown, ...path: ReadonlyArray<string>): number | undefined => {
  const found = at(value, ...path)
  return typeof found === "number" ? found : undefined
}

export const objectsAt = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<JsonObject> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.filter(isObject) : []
}

export const textsAt = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.filter((item) => typeof item === "string") : []
}

export const objectAt = (value: unknown, ...path: ReadonlyArray<string>): JsonObject => {
  const found = at(value, ...path)
  return isObject(found) ? found : {}
}
