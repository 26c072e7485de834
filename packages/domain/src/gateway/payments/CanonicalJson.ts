/** A value that JSON can represent, which excludes non-finite numbers. */
type JsonValue = string | number | boolean | null | ReadonlyArray<JsonValue> | { readonly [key: string]: JsonValue }

/**
 * Returns the canonical JSON of a value by RFC 8785: members ordered by the UTF-16 units of their names, without
 * spaces. JavaScript serializes numbers and strings as the RFC requires.
 */
export const encodeCanonicalJson = (value: JsonValue): string => {
  if (Array.isArray(value)) return `[${value.map(encodeCanonicalJson).join(",")}]`
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${encodeCanonicalJson(member)}`)
    return `{${members.join(",")}}`
  }
  return JSON.stringify(value)
}
