import { encodeLine, structuredLogger } from "@berth/domain/shared/LogLine"
import { Logger, LogLevel } from "effect"

/** Destination of text: standard output, or a test. */
interface TextSink {
  readonly write: (text: string) => unknown
}

interface LineWriter {
  readonly add: (line: string) => void
  /** Writes buffered lines immediately. */
  readonly flush: () => void
}

/** Milliseconds that a line waits for others. */
const maximumDelay = 20

/** Writes lines together, since each write costs a system call and wakes the supervisor. */
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
      if (lines.push(line) === 1) setTimeout(flush, maximumDelay)
    },
    flush
  }
}

const stdout = makeLineWriter(process.stdout)
// Flushes the buffer at any exit of the process.
process.once("exit", stdout.flush)

/**
 * Logs one line of JSON per entry: to standard output, in batches; from warnings up, immediately to standard error after
 * a flush.
 */
export const jsonLogger = Logger.make<unknown, void>((options) => {
  const line = encodeLine(structuredLogger.log(options))
  if (LogLevel.lessThan(options.logLevel, LogLevel.Warning)) {
    stdout.add(line)
    return
  }
  stdout.flush()
  process.stderr.write(`${line}\n`)
})
