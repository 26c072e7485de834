import { Clock, Effect, Option, Predicate, Runtime } from "effect"

/**
 * Logs errors that BullMQ and its drivers emit outside of calls: the first of a kind at once, repetitions every ten
 * seconds.
 */
export const makeStoreErrorLog = (
  message: string,
  annotations: Record<string, unknown>
): Effect.Effect<(error: Error) => void> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const seen = new Map<string, { readonly loggedAt: number; readonly times: number }>()
    return (error) => {
      const reason = error.message === "" ? codeOf(error).pipe(Option.getOrElse(() => error.name)) : error.message
      Runtime.runFork(runtime)(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const before = seen.get(reason)
          if (before !== undefined && now - before.loggedAt < 10_000) {
            seen.set(reason, { ...before, times: before.times + 1 })
            return
          }
          if (seen.size >= 50) seen.clear()
          seen.set(reason, { loggedAt: now, times: 0 })
          // Omits the error and its properties, which can contain arguments and rows.
          yield* Effect.logWarning(message).pipe(
            Effect.annotateLogs({ ...annotations, reason, repeated: before?.times ?? 0 })
          )
        })
      )
    }
  })

const codeOf = (error: Error): Option.Option<string> =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? Option.some(error.code) : Option.none()
