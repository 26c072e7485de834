import { Clock, Effect, Option, Predicate, Runtime } from "effect"

/**
 * What BullMQ and its drivers say outside of any call: a lost connection, a lock that was not renewed. The first of a kind is
 * logged at once, its repetitions every ten seconds, since a store that is down fails in a loop.
 */
export const makeStoreErrorLog = (
  what: string,
  annotations: Record<string, unknown>
): Effect.Effect<(error: Error) => void> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const seen = new Map<string, { readonly loggedAt: number; readonly times: number }>()
    return (error) => {
      const said = error.message === "" ? codeOf(error).pipe(Option.getOrElse(() => error.name)) : error.message
      Runtime.runFork(runtime)(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const before = seen.get(said)
          if (before !== undefined && now - before.loggedAt < 10_000) {
            seen.set(said, { ...before, times: before.times + 1 })
            return
          }
          if (seen.size >= 50) seen.clear()
          seen.set(said, { loggedAt: now, times: 0 })
          // Neither the error itself nor its properties: drivers hang arguments and rows on them.
          yield* Effect.logWarning(what).pipe(
            Effect.annotateLogs({ ...annotations, reason: said, repeated: before?.times ?? 0 })
          )
        })
      )
    }
  })

const codeOf = (error: Error): Option.Option<string> =>
  Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? Option.some(error.code) : Option.none()
