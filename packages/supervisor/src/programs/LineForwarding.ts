import type { Readable, Writable } from "node:stream"
import { Transform } from "node:stream"

/** Longer lines are split, in characters. */
const maximumLineLength = 64 * 1024

/** Emits complete lines only, so that outputs of programs do not interleave within lines. */
const makeLineTransform = () => {
  let rest = ""
  return new Transform({
    decodeStrings: false,
    transform(chunk: string, _encoding, done) {
      rest += chunk
      const end = rest.length > maximumLineLength ? rest.length : rest.lastIndexOf("\n") + 1
      const lines = rest.slice(0, end)
      rest = rest.slice(end)
      done(null, lines === "" ? undefined : lines)
    },
    flush(done) {
      done(null, rest === "" ? undefined : `${rest}\n`)
    }
  })
}

/** Forwards lines with back-pressure. */
export const forwardLines = (from: Readable, to: Writable): Transform => {
  const lines = from.setEncoding("utf8").pipe(makeLineTransform())
  lines.pipe(to, { end: false })
  return lines
}
