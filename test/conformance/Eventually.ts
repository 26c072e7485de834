import { Effect } from "effect"

/** Asks again until the answer is the one that is waited for; after 30 seconds it fails, showing the last one. */
export const eventually = <A, E, R>(
  question: Effect.Effect<A, E, R>,
  isIt: (answer: A) => boolean
): Effect.Effect<A, E | Error, R> =>
  Effect.suspend(() => {
    let last: unknown = "no answer at all"
    const ask: Effect.Effect<A, E, R> = Effect.flatMap(question, (answer) => {
      last = answer
      return isIt(answer) ? Effect.succeed(answer) : Effect.delay(ask, "20 millis")
    })
    return Effect.timeoutFail(ask, {
      duration: "30 seconds",
      onTimeout: () => new Error(`still not so after 30 seconds: ${JSON.stringify(last)}`)
    })
  })
