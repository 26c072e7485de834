import { Duration, Effect, Option } from "effect"
import { inspect } from "node:util"

interface EventuallyOptions {
  /** Completes the failure message "not within 30s: …". */
  readonly description?: string
  /** Default: 30 seconds, enough for a loaded machine. */
  readonly timeout?: Duration.DurationInput
}

const shown = (value: unknown) => inspect(value, { depth: 5, breakLength: 120, maxArrayLength: 40 }).slice(0, 4_000)

/**
 * Repeats `read` until its result satisfies the condition. After the timeout it reads once more, because the machine
 * may have been suspended, then fails with the last value. Wait for stable states only: a transient one can pass
 * between two reads.
 */
export const eventually = <A, E, R>(
  read: Effect.Effect<A, E, R>,
  isSatisfied: (value: A) => boolean,
  { timeout = "30 seconds", description = "the expected value" }: EventuallyOptions = {}
): Effect.Effect<A, E | Error, R> =>
  Effect.suspend(() => {
    let attempts = 0
    let last: unknown = "none"
    const readOnce = Effect.map(read, (value) => {
      attempts += 1
      last = value
      return value
    })
    // Increasing intervals keep the load of many waiting tests low.
    const poll: Effect.Effect<A, E, R> = Effect.flatMap(readOnce, (value) =>
      isSatisfied(value) ? Effect.succeed(value) : Effect.delay(poll, Math.min(15 * 1.3 ** attempts, 300))
    )
    const timedOut = () =>
      new Error(`not within ${Duration.format(timeout)}: ${description}; ${attempts} reads; last value: ${shown(last)}`)
    const lastRead = Effect.timeoutFail(Effect.interruptible(readOnce), { duration: "10 seconds", onTimeout: timedOut })
    // Interruptible even in an acquisition, so that the timeout takes effect.
    return Effect.flatMap(
      Effect.timeoutOption(Effect.interruptible(poll), timeout),
      Option.match({ onSome: Effect.succeed, onNone: () => Effect.filterOrFail(lastRead, isSatisfied, timedOut) })
    )
  })
