/* Does not import Effect, since browser pages import this module. */

/** Reads a member of a JSON object; undefined for any other value. */
export const readMember = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined

export const readTextMember = (value: unknown, key: string): string | undefined => {
  const member = readMember(value, key)
  return typeof member === "string" ? member : undefined
}

export const readListMember = (value: unknown, key: string): ReadonlyArray<unknown> => {
  const member = readMember(value, key)
  return Array.isArray(member) ? member : []
}

export const tryParseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Malformed JSON has no members.
    return undefined
  }
}
