/** Maximum characters of a part, below the limit of a tool result. */
export const textPageLength = 18_000

/** Returns the part from `offset`, with a hint on how to continue. */
export const paginateText = (text: string, offset: number): string => {
  if (offset >= text.length) return offset === 0 ? "" : `[Nothing more: the text has ${text.length} characters.]`
  const end = Math.min(text.length, wholeCharacters(text, offset + textPageLength))
  const part = text.slice(offset, end)
  return end === text.length ? part : `${part}\n[There is more. Go on with offset ${end}.]`
}

/** Adjusts a position to avoid splitting a surrogate pair. */
const wholeCharacters = (text: string, at: number): number => {
  const code = text.charCodeAt(at - 1)
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at
}
