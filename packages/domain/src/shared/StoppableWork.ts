import { Effect, Exit, Fiber, FiberId, Option } from "effect"

/**
 * Hot path: runs an effect in a separate fiber. None if it is stopped before its end, which interrupts it. `subscribe`
 * receives the stop function and returns the function that unsubscribes. A race would take two fibers.
 */
export const runStoppable = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  subscribe: (stop: () => void) => () => void
): Effect.Effect<Option.Option<A>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.fork(restore(work)), (fiber) => {
      let isStopped = false
      const unsubscribe = subscribe(() => {
        isStopped = true
        fiber.unsafeInterruptAsFork(FiberId.none)
      })
      return Effect.matchCauseEffect(restore(fiber.await), {
        onFailure: (cause) => {
          unsubscribe()
          return Effect.zipRight(Fiber.interrupt(fiber), Effect.failCause(cause))
        },
        onSuccess: (exit) => {
          unsubscribe()
          if (Exit.isSuccess(exit)) return Effect.succeed(Option.some(exit.value))
          return isStopped && Exit.isInterrupted(exit) ? Effect.succeedNone : Effect.failCause(exit.cause)
        }
      })
    })
  )
