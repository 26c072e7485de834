/** A value that JSON has, without numbers that it has not. */
export type JsonValue =
  string | number | boolean | null | ReadonlyArray<JsonValue> | { readonly [key: string]: JsonValue }

/**
 * The one JSON text of a value by RFC 8785: members in the order of their names' UTF-16 units, no space. JavaScript
 * writes numbers and strings as that RFC requires.
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
