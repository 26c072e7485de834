import type { Readable, Writable } from "node:stream"
import { Transform } from "node:stream"

/** A line that does not end is passed on in pieces of this size (characters). */
const maximumLineLength = 64 * 1024

/** Hands on whole lines only, so that programs that speak at the same time do not cut into each other's words. */
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

/** Passes what a program says to our own output, at the pace at which that is read. */
export const forwardLines = (from: Readable, to: Writable): Transform => {
  const lines = from.setEncoding("utf8").pipe(makeLineTransform())
  lines.pipe(to, { end: false })
  return lines
}
