import { Inspectable, Predicate } from "effect"

/** Removes U+0000 and lone surrogates, which PostgreSQL rejects. */
export const toQueueText = (text: string): string => text.replaceAll("\u0000", "").toWellFormed()

/** Returns the JSON of a value in the subset that both stores accept. */
export const toQueueJson = (value: unknown): unknown => {
  const text = JSON.stringify(value)
  return text === undefined ? null : clean(JSON.parse(text))
}

const clean = (value: unknown): unknown => {
  if (typeof value === "string") return toQueueText(value)
  if (Array.isArray(value)) return value.map(clean)
  if (!Predicate.isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [toQueueText(key), clean(member)]))
}

/** Describes a thrown value for operators. */
export const describeThrown = (thrown: unknown): string => {
  const text = hasReason(thrown)
    ? `${thrown._tag}: ${thrown.reason}`
    : thrown instanceof Error
      ? [thrown.name, thrown.message].filter((part) => part !== "").join(": ")
      : Inspectable.toStringUnknown(thrown)
  return toQueueText(text).slice(0, 2000)
}

const hasReason = (thrown: unknown): thrown is { readonly _tag: string; readonly reason: string } =>
  Predicate.hasProperty(thrown, "_tag") &&
  Predicate.isString(thrown._tag) &&
  Predicate.hasProperty(thrown, "reason") &&
  Predicate.isString(thrown.reason)

/** Encodes an id: BullMQ rejects colons and numbers. */
export const encodeJobKey = (id: string): string => `k-${Buffer.from(toQueueText(id)).toString("base64url")}`

export const decodeJobKey = (key: string): string =>
  key.startsWith("k-") ? Buffer.from(key.slice(2), "base64url").toString() : key
