/** Destination of text: standard output, or a test. */
interface TextSink {
  readonly write: (text: string) => unknown
}

interface LineWriter {
  readonly add: (line: string) => void
  /** Writes buffered lines immediately. */
  readonly flush: () => void
}

/** Writes the lines of a turn of the event loop together, since each write costs a system call. */
export const makeLineWriter = (sink: TextSink): LineWriter => {
  let lines: Array<string> = []
  const flush = () => {
    if (lines.length === 0) return
    const text = `${lines.join("\n")}\n`
    lines = []
    sink.write(text)
  }
  return {
    add: (line) => {
      if (lines.push(line) === 1) setImmediate(flush)
    },
    flush
  }
}
