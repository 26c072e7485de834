import { redactText } from "@berth/domain/shared/TextRedaction"
import { Cause, Effect, Layer, LogLevel, Runtime } from "effect"
import { format } from "node:util"

const maximumTextLength = 4096

const levels = {
  debug: LogLevel.Debug,
  log: LogLevel.Info,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  error: LogLevel.Error
} as const
const methods = ["debug", "log", "info", "warn", "error"] as const

const clean = (text: string) => redactText(text.slice(0, maximumTextLength))

/** Logs console output of libraries, warnings of Node.js and uncaught errors, which end the process. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const log = (line: Effect.Effect<void>) => Runtime.runSync(runtime)(line)
    const logOutput =
      (method: keyof typeof levels) =>
      (...parts: ReadonlyArray<unknown>) =>
        log(
          Effect.logWithLevel(levels[method], "Library logged").pipe(
            Effect.annotateLogs({ text: clean(format(...parts)) })
          )
        )
    const logWarning = ({ message, name }: Error) =>
      log(Effect.logWarning("Node.js warned").pipe(Effect.annotateLogs({ name, reason: clean(message) })))
    const logUncaught = (error: unknown) => {
      log(Effect.logFatal("Uncaught error", Cause.die(error)))
      process.exit(1)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const before = { ...console }
        const warned = process.listeners("warning")
        for (const method of methods) console[method] = logOutput(method)
        process.removeAllListeners("warning").on("warning", logWarning).on("uncaughtException", logUncaught)
        return { before, warned }
      }),
      ({ before, warned }) =>
        Effect.sync(() => {
          for (const method of methods) console[method] = before[method]
          process.off("warning", logWarning).off("uncaughtException", logUncaught)
          for (const listener of warned) process.on("warning", listener)
        })
    )
  })
)
