/** PostgreSQL keeps neither U+0000 nor unpaired surrogates: both become U+FFFD, in what is stored and in what is looked up. */
export const toStorableText = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed()

/** The JSON text of a value, fit for a jsonb column, names of members included. */
export const toStorableJson = (value: unknown): string =>
  // `JSON.stringify` escapes unpaired surrogates only.
  (JSON.stringify(value) ?? "null").replaceAll(/\\(?:u0000|ud[89a-f]..|.)/g, (escape) =>
    escape.length === 6 ? "\uFFFD" : escape
  )
