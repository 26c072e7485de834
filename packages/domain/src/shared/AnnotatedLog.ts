import { Cause, Clock, Context, Effect, FiberRef, HashMap, LogLevel } from "effect"

/**
 * Hot path: logs one line with its own annotations, built only if its level is logged. Loggers receive it directly,
 * since setting and restoring annotations would copy the state of the fiber twice.
 */
export const logInfoWith = (message: string, annotations: Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber) => {
    if (LogLevel.greaterThan(fiber.getFiberRef(FiberRef.currentMinimumLogLevel), LogLevel.Info)) return Effect.void
    const entry = {
      message: [message],
      logLevel: LogLevel.Info,
      cause: Cause.empty,
      date: new Date(Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeMillis()),
      fiberId: fiber.id(),
      context: fiber.getFiberRefs(),
      spans: fiber.getFiberRef(FiberRef.currentLogSpan),
      annotations: HashMap.mutate(fiber.getFiberRef(FiberRef.currentLogAnnotations), (all) => {
        for (const [name, value] of Object.entries(annotations)) HashMap.set(all, name, value)
      })
    }
    for (const logger of fiber.getFiberRef(FiberRef.currentLoggers)) logger.log(entry)
    return Effect.void
  })
