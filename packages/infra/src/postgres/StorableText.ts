/** PostgreSQL keeps neither U+0000 nor unpaired surrogates: both become U+FFFD, in what is stored and in what is looked up. */
export const toStorableText = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed()

/** The JSON text of a value, fit for a jsonb column. */
export const toStorableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? toStorableText(part) : part)) ?? "null"
