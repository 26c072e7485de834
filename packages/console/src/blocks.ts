/** Largest block: a longer one is cut at a line, so that a growing answer parses little again. */
const longestBlock = 16_000

export interface Blocks {
  /** Complete blocks, which never change again. */
  readonly done: ReadonlyArray<string>
  /** The block that further text extends. */
  readonly tail: string
}

export const noBlocks: Blocks = { done: [], tail: "" }

const fenceOf = (line: string) => /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]

/** Blocks with further Markdown. Blank lines outside code fences separate them. */
export const appendText = ({ done, tail }: Blocks, text: string): Blocks => {
  const whole = tail + text
  const finished: Array<string> = []
  let start = 0
  let at = 0
  let fence: string | undefined
  let fenceLine = ""
  let current = ""
  for (;;) {
    const end = whole.indexOf("\n", at)
    if (end === -1) break
    const line = whole.slice(at, end)
    const mark = fenceOf(line)
    at = end + 1
    if (fence === undefined && mark !== undefined) {
      fence = mark
      fenceLine = line
    } else if (fence !== undefined && mark !== undefined && mark.startsWith(fence) && line.trim() === mark) {
      fence = undefined
    } else if (at - start + current.length > longestBlock) {
      const closing = fence === undefined ? "" : `${fence}\n`
      finished.push(current + whole.slice(start, at) + closing)
      current = fence === undefined ? "" : `${fenceLine}\n`
      start = at
      continue
    }
    if (fence === undefined && line.trim() === "") {
      const block = current + whole.slice(start, at)
      if (block.trim() !== "") finished.push(block)
      current = ""
      start = at
    }
  }
  const rest = current + whole.slice(start)
  if (rest.length <= 2 * longestBlock || fence !== undefined)
    return finished.length === 0 ? { done, tail: rest } : { done: [...done, ...finished], tail: rest }
  // One line without an end.
  const cut = rest.lastIndexOf(" ", longestBlock)
  const place = cut === -1 ? longestBlock : cut
  return appendText({ done: [...done, ...finished, rest.slice(0, place)], tail: "" }, rest.slice(place))
}

/** The blocks of a whole text. */
export const splitBlocks = (text: string): ReadonlyArray<string> => {
  const { done, tail } = appendText(noBlocks, text)
  return tail.trim() === "" ? done : [...done, tail]
}
