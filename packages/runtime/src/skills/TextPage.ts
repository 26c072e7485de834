/** Characters of a long text that are given at once: with what is said around them they stay below a result's limit. */
export const textPageLength = 18_000

/** The part of a text that begins at `offset` characters, with a word on how to go on where there is more. */
export const paginateText = (text: string, offset: number): string => {
  if (offset >= text.length) return offset === 0 ? "" : `[Nothing more: the text has ${text.length} characters.]`
  const end = Math.min(text.length, wholeCharacters(text, offset + textPageLength))
  const part = text.slice(offset, end)
  return end === text.length ? part : `${part}\n[There is more. Go on with offset ${end}.]`
}

/** Where to cut so that no character of two halves is torn. */
const wholeCharacters = (text: string, at: number): number => {
  const code = text.charCodeAt(at - 1)
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at
}
