import { Cause, Clock, Context, Effect, type Fiber, FiberRef, HashMap, type Logger, LogLevel } from "effect"

type Fields = Readonly<Record<string, unknown>>

/**
 * A log entry with its own annotations. Hot path: `annotations` and `context`, which copy the state of the fiber, are
 * made only for loggers that read them.
 */
export class AnnotatedEntry implements Logger.Logger.Options<unknown> {
  readonly logLevel = LogLevel.Info
  readonly cause = Cause.empty
  readonly message: ReadonlyArray<string>
  readonly date: Date

  constructor(
    message: string,
    readonly fields: Fields,
    private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>
  ) {
    this.message = [message]
    this.date = new Date(Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeMillis())
  }

  get inherited() {
    return this.fiber.getFiberRef(FiberRef.currentLogAnnotations)
  }

  get span() {
    return this.fiber.currentSpan
  }

  get annotations() {
    return HashMap.mutate(this.inherited, (all) => {
      for (const [name, value] of Object.entries(this.fields)) HashMap.set(all, name, value)
    })
  }

  get context() {
    return this.fiber.getFiberRefs()
  }

  get fiberId() {
    return this.fiber.id()
  }

  get spans() {
    return this.fiber.getFiberRef(FiberRef.currentLogSpan)
  }
}

/**
 * Hot path: logs one line with its own annotations, built only if its level is logged. Loggers receive it directly,
 * since setting and restoring annotations would copy the state of the fiber twice.
 */
export const logInfoWith = (message: string, fields: Fields): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber) => {
    if (LogLevel.greaterThan(fiber.getFiberRef(FiberRef.currentMinimumLogLevel), LogLevel.Info)) return Effect.void
    const entry = new AnnotatedEntry(message, fields, fiber)
    for (const logger of fiber.getFiberRef(FiberRef.currentLoggers)) logger.log(entry)
    return Effect.void
  })
