/**
 * A part of a Markdown text. The joined texts equal the original; `prefix` and `suffix` reopen and close a code block.
 */
interface MarkdownPiece {
  readonly prefix: string
  readonly text: string
  readonly suffix: string
}

/** The opening of a fenced code block. */
export interface Fence {
  readonly marker: string
  readonly language: string
}

/** Longer markers are text. */
const fencePattern = /^ {0,3}(`{3,12}|~{3,12})([^`\n]*)$/
const maximumLanguageLength = 32

/** Returns the fence opened by a line. */
export const readFence = (line: string): Fence | undefined => {
  const [, marker, info = ""] = fencePattern.exec(line) ?? []
  if (marker === undefined) return undefined
  const [language = ""] = info.trim().split(/\s/)
  return { marker, language: language.slice(0, maximumLanguageLength) }
}

export const closesFence = (line: string, { marker }: Fence): boolean => {
  const text = line.trim()
  return text.length >= marker.length && /^(`+|~+)$/.test(text) && text[0] === marker[0]
}

/** Returns the open fence at the end of a text. */
export const findOpenFence = (text: string): Fence | undefined => {
  let open: Fence | undefined
  for (const line of text.split("\n"))
    if (open === undefined) open = readFence(line)
    else if (closesFence(line, open)) open = undefined
  return open
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff

/** Returns the last suitable position in the second half of a window: between paragraphs, lines, sentences or words. */
const findCut = (window: string): number => {
  const half = Math.floor(window.length / 2)
  for (const separator of ["\n\n", "\n", ". ", " "]) {
    const place = window.lastIndexOf(separator)
    if (place >= half) return place + separator.length
  }
  return isHighSurrogate(window.charCodeAt(window.length - 1)) && window.length > 1 ? window.length - 1 : window.length
}

const openingOf = (fence: Fence | undefined) => (fence === undefined ? "" : `${fence.marker}${fence.language}\n`)

/**
 * Splits a text into parts of at most `limit` UTF-16 units, at suitable positions. A split code block is closed and
 * reopened; surrogate pairs are never split. `limit` is at least 128.
 */
export const splitMarkdown = (markdown: string, limit: number): ReadonlyArray<MarkdownPiece> => {
  const pieces: Array<MarkdownPiece> = []
  let rest = markdown
  let open: Fence | undefined
  while (rest !== "") {
    const prefix = openingOf(open)
    const isLast = prefix.length + rest.length <= limit
    const whole = isLast ? findOpenFence(prefix + rest) : undefined
    if (isLast && whole === undefined) {
      pieces.push({ prefix, text: rest, suffix: "" })
      break
    }
    // Room for a closing fence with the longest marker on a separate line.
    const room = limit - prefix.length - 13
    const text = rest.length <= room ? rest : rest.slice(0, findCut(rest.slice(0, room)))
    open = findOpenFence(prefix + text)
    const suffix = open === undefined ? "" : `${text.endsWith("\n") ? "" : "\n"}${open.marker}`
    pieces.push({ prefix, text, suffix })
    rest = rest.slice(text.length)
  }
  return pieces
}
