import { Effect, Schedule } from "effect"

const schedule = Schedule.spaced("250 millis").pipe(Schedule.upTo("5 seconds"))

/** Repeats a failing write for five seconds, which bridges a restart of the database. The write must be idempotent. */
export const retryOverOutage = <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  write.pipe(Effect.sandbox, Effect.retry(schedule), Effect.unsandbox)
