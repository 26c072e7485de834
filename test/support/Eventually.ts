import { Duration, Effect, Option } from "effect"
import { inspect } from "node:util"

export interface EventuallyOptions {
  /** Completes the message "waited for …". */
  readonly description?: string
  /** How long, at least; 30 seconds where nothing is said. A machine with much to do is slow, and that is no failure. */
  readonly timeout?: Duration.DurationInput
}

const shown = (value: unknown) => inspect(value, { depth: 5, breakLength: 120, maxArrayLength: 40 }).slice(0, 4_000)

/**
 * Asks again until the answer is the one that is waited for. When the time is up it asks once more, since the machine may
 * have slept; then it fails, showing the last answer. Wait only for what stays so once it has come: a state that passes
 * may pass between two looks.
 */
export const eventually = <A, E, R>(
  question: Effect.Effect<A, E, R>,
  isIt: (answer: A) => boolean,
  { timeout = "30 seconds", description = "the right answer" }: EventuallyOptions = {}
): Effect.Effect<A, E | Error, R> =>
  Effect.suspend(() => {
    let looks = 0
    let last: unknown = "no answer at all"
    const look = Effect.map(question, (answer) => {
      looks += 1
      last = answer
      return answer
    })
    // At growing intervals: on a slow machine the looks of many tests would themselves keep it busy.
    const ask: Effect.Effect<A, E, R> = Effect.flatMap(look, (answer) =>
      isIt(answer) ? Effect.succeed(answer) : Effect.delay(ask, Math.min(15 * 1.3 ** looks, 300))
    )
    const late = () =>
      new Error(
        `waited ${Duration.format(timeout)} for ${description}, and looked ${looks} times; last seen: ${shown(last)}`
      )
    const lastLook = Effect.timeoutFail(Effect.interruptible(look), { duration: "10 seconds", onTimeout: late })
    // Interruptible also where a resource is acquired, or the time would never be up.
    return Effect.flatMap(
      Effect.timeoutOption(Effect.interruptible(ask), timeout),
      Option.match({ onSome: Effect.succeed, onNone: () => Effect.filterOrFail(lastLook, isIt, late) })
    )
  })
