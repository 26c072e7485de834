import { Duration, Effect } from "effect"

/**
 * What an effect costs this process in processor time, all threads together: unlike the time on the clock it hardly depends
 * on who else is running.
 */
export const measureCpuTime = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<[Duration.Duration, A], E, R> =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    const result = yield* work
    const { system, user } = process.cpuUsage(before)
    return [Duration.micros(BigInt(system + user)), result]
  })
