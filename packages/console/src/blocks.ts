/** A longer block is split at a line, so that little of a growing answer is parsed again. */
const longestBlock = 4_000
/** Code is cheap to parse, and copied as a whole. */
const longestCode = 16_000
/** Longest line that is repeated at the start of each part of a split block. */
const longestRepeatedLine = 500

export interface Blocks {
  /** Complete blocks, which never change. */
  readonly done: ReadonlyArray<string>
  /** The block that further text extends. */
  readonly tail: string
}

export const noBlocks: Blocks = { done: [], tail: "" }

const fenceOf = (line: string) => /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]

/** Whether the line separates the head and the rows of a table. */
const isDelimiterRow = (line: string) => line.includes("|") && line.includes("-") && /^[\s|:-]+$/.test(line)

/** False for a delimiter row, and for a line that may become one. */
const hasText = (line: string) => /[^\s|:-]/.test(line)

/** Finds the end of the first part of a text without a better position: a line, else a word. */
const findCut = (text: string) => {
  const [line, word] = [text.lastIndexOf("\n", longestBlock), text.lastIndexOf(" ", longestBlock)]
  return line > 0 ? line + 1 : word > 0 ? word : longestBlock
}

/** Appends Markdown to blocks. Blank lines outside code fences, and the ends of fences, separate them. */
export const appendText = ({ done, tail }: Blocks, text: string): Blocks => {
  const whole = tail + text
  const finished: Array<string> = []
  // The block so far is `repeated`, and the text from `start`.
  let start = 0
  let repeated = ""
  let fence: string | undefined
  let fenceLine = ""
  let tableHead = ""
  let previous = ""
  const cutAt = (place: number, next: string) => {
    finished.push(repeated + whole.slice(start, place) + (fence === undefined ? "" : `${fence}\n`))
    repeated = next
    start = place
  }
  for (let at = 0; at < whole.length;) {
    const newline = whole.indexOf("\n", at)
    const isComplete = newline !== -1
    const end = isComplete ? newline : whole.length
    const line = whole.slice(at, end)
    const isClosing = fence !== undefined && fenceOf(line)?.startsWith(fence) === true && fenceOf(line) === line.trim()
    const length = repeated.length + at - start
    if (fence !== undefined) {
      if (isComplete && !isClosing && length > longestCode) cutAt(at, `${fenceLine}\n`)
    } else {
      // Ignores text after the next forced split: the blocks must not depend on how much of it has arrived.
      const isPlace = /^\S/.test(line) && hasText(line.slice(0, 2 * longestBlock + 1 - length))
      if (isPlace && length > longestBlock) cutAt(at, tableHead)
      if (repeated.length + end - start > 2 * longestBlock) {
        cutAt(start + findCut(repeated + whole.slice(start, end)) - repeated.length, "")
        at = start
        tableHead = ""
        previous = ""
        continue
      }
    }
    if (!isComplete) break
    at = end + 1
    const mark = fenceOf(line)
    if (isClosing || (fence === undefined && line.trim() === "")) {
      fence = undefined
      const block = repeated + whole.slice(start, at)
      if (block.trim() !== "") finished.push(block)
      repeated = ""
      start = at
      tableHead = ""
    } else if (fence === undefined && mark !== undefined) {
      fence = mark.slice(0, longestRepeatedLine)
      fenceLine = line.slice(0, longestRepeatedLine)
    } else if (tableHead === "" && isDelimiterRow(line) && previous.includes("|")) {
      const head = `${previous}\n${line}\n`
      tableHead = head.length > longestRepeatedLine ? "" : head
    }
    previous = line
  }
  const rest = repeated + whole.slice(start)
  return finished.length === 0 ? { done, tail: rest } : { done: [...done, ...finished], tail: rest }
}

/** Lists all blocks with text; only the last one may grow. */
export const listBlocks = ({ done, tail }: Blocks): ReadonlyArray<string> =>
  tail.trim() === "" ? done : [...done, tail]

export const splitBlocks = (text: string): ReadonlyArray<string> => listBlocks(appendText(noBlocks, text))

/**
 * Finds the blocks of at most `limit` characters at the start or the end, as the first index and the one after the
 * last. At least one.
 */
export const findShown = (
  blocks: ReadonlyArray<string>,
  limit: number,
  atEnd: boolean
): readonly [first: number, end: number] => {
  const ordered = atEnd ? blocks.toReversed() : blocks
  let length = 0
  const beyond = ordered.findIndex((block, index) => {
    length += block.length
    return index > 0 && length > limit
  })
  const count = beyond === -1 ? blocks.length : beyond
  return atEnd ? [blocks.length - count, blocks.length] : [0, count]
}
