import { Clock, Effect, Exit, Option } from "effect"
import { type Latencies, summarizeLatencies } from "./Latencies.ts"

/** Milliseconds of the attempts that succeeded, and the part that did. */
export interface Attempts extends Latencies {
  readonly count: number
  readonly succeeded: number
}

export const summarizeAttempts = (attempts: ReadonlyArray<Option.Option<number>>): Attempts => {
  const times = attempts.flatMap(Option.toArray)
  return { count: attempts.length, succeeded: times.length / attempts.length, ...summarizeLatencies(times) }
}

/** Milliseconds of the work; none when it fails, which is logged. */
export const attempt = <A, E extends Error, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeNanos
    const exit = yield* Effect.exit(work)
    if (Exit.isSuccess(exit)) return Option.some(Number((yield* Clock.currentTimeNanos) - began) / 1e6)
    yield* Effect.logWarning("An attempt failed", exit.cause)
    return Option.none<number>()
  })
