/** Where text goes: standard output, or a test. */
export interface TextSink {
  readonly write: (text: string) => unknown
}

export interface LineWriter {
  readonly add: (line: string) => void
  /** Writes what was added and not yet written, at once. */
  readonly flush: () => void
}

/** Writes the lines of one turn of the event loop together: each write costs a call into the system, and wakes whoever reads. */
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
