import { encodeLine, structuredLogger } from "@berth/domain/shared/LogLine"
import { Logger, LogLevel } from "effect"
import { makeLineWriter } from "./LineWriter.ts"

const stdout = makeLineWriter(process.stdout)
// Flushes the buffer at exit, however the process ends.
process.once("exit", stdout.flush)

const toConsole = Logger.withLeveledConsole(Logger.map(structuredLogger, encodeLine))

/**
 * Logs one line of JSON per entry: to standard output, batched per turn of the event loop; warnings and worse immediately to
 * standard error, after a flush.
 */
export const jsonLogger = Logger.make<unknown, void>((options) => {
  if (options.logLevel === LogLevel.Info || options.logLevel === LogLevel.Debug) {
    stdout.add(encodeLine(structuredLogger.log(options)))
    return
  }
  stdout.flush()
  toConsole.log(options)
})
