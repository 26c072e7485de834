import { Effect, FiberRef, HashMap, LogLevel } from "effect"

/** Hot path: one line with annotations of its own, built only when its level is logged. */
export const logInfoWith = (message: string, annotations: Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiberRuntime<void>((fiber) => {
    if (LogLevel.greaterThan(fiber.getFiberRef(FiberRef.currentMinimumLogLevel), LogLevel.Info)) return Effect.void
    const before = fiber.getFiberRef(FiberRef.currentLogAnnotations)
    const during = HashMap.mutate(before, (all) => {
      for (const [name, value] of Object.entries(annotations)) HashMap.set(all, name, value)
    })
    // Cheaper than `annotateLogs`, which takes them back whatever happens in between.
    return FiberRef.set(FiberRef.currentLogAnnotations, during).pipe(
      Effect.zipRight(Effect.logInfo(message)),
      Effect.zipRight(FiberRef.set(FiberRef.currentLogAnnotations, before))
    )
  })
