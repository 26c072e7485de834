/** A member of a JSON object; undefined of anything else. */
export const member = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined

export const textMember = (value: unknown, key: string): string | undefined => {
  const found = member(value, key)
  return typeof found === "string" ? found : undefined
}

export const listMember = (value: unknown, key: string): ReadonlyArray<unknown> => {
  const found = member(value, key)
  return Array.isArray(found) ? found : []
}

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Whoever asks for a member of what is no JSON finds none.
    return undefined
  }
}
