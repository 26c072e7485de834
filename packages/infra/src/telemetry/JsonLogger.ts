import { encodeLine, structuredLogger } from "@berth/domain/shared/LogLine"
import { Logger, LogLevel } from "effect"
import { makeLineWriter } from "./LineWriter.ts"

const stdout = makeLineWriter(process.stdout)
// Flushes the buffer at any exit of the process.
process.once("exit", stdout.flush)

/**
 * Logs one line of JSON per entry: to standard output, batched per turn of the event loop; from warnings up,
 * immediately to standard error after a flush.
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
