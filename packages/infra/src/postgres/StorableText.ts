/** Replaces U+0000 and unpaired surrogates, which PostgreSQL cannot store, with U+FFFD, for storage and for lookups. */
export const toStorableText = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed()

/** Encodes a value as JSON for a jsonb column, including the names of members. */
export const toStorableJson = (value: unknown): string =>
  // `JSON.stringify` escapes unpaired surrogates only.
  (JSON.stringify(value) ?? "null").replaceAll(/\\(?:u0000|ud[89a-f]..|.)/g, (escape) =>
    escape.length === 6 ? "\uFFFD" : escape
  )
