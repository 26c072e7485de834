import { Duration, Effect } from "effect"

/** Measures the processor time of an effect over all threads of this process, almost independent of other processes. */
export const measureCpuTime = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<[Duration.Duration, A], E, R> =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    const result = yield* work
    const { system, user } = process.cpuUsage(before)
    return [Duration.micros(BigInt(system + user)), result]
  })
