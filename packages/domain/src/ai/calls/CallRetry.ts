import { Cause, type Clock, Duration, Effect, Either, Option, Random } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { CircuitBreakers } from "./CircuitBreakers.ts"
import { countCall } from "./ModelTelemetry.ts"
import type { CalledModel } from "./CallPlan.ts"
import { computeRetryDelay, type CallRetryPolicy } from "./CallRetryPolicy.ts"

interface RetriedCall<A> {
  readonly result: Either.Either<A, ProviderFailed>
  readonly tries: number
}

interface CallRetryOptions {
  readonly breakers: CircuitBreakers
  readonly call: CalledModel
  readonly clock: Clock.Clock
  /** Epoch milliseconds after which no retry starts. */
  readonly deadline: number
  readonly policy: CallRetryPolicy
  readonly restore: Restore
}

/** Restores the interruptibility of the outer region. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Runs a call if its breaker admits it, retries transient failures, and records the outcome; none for a rejected call.
 * Run uninterruptibly: the wait before a retry is restored.
 */
export const retryCall = <A, R>(
  attempt: Effect.Effect<A, ProviderFailed, R>,
  { breakers, call, clock, deadline, policy, restore }: CallRetryOptions
): Effect.Effect<Option.Option<RetriedCall<A>>, never, R> =>
  Effect.suspend(() => {
    const now = () => clock.unsafeCurrentTimeMillis()
    if (!breakers.admit(call, now())) return Effect.succeedNone
    let tries = 0
    const abandon = (cause: Cause.Cause<never>) => {
      breakers.recordAbandoned(call, now())
      return Effect.failCause(cause)
    }
    const end = (result: Either.Either<A, ProviderFailed>) => Effect.succeed(Option.some({ result, tries }))
    const next: Effect.Effect<Option.Option<RetriedCall<A>>, never, R> = Effect.suspend(() => {
      tries += 1
      return Effect.matchCauseEffect(attempt, {
        onSuccess: (answer) => {
          breakers.recordSuccess(call, now())
          return end(Either.right(answer))
        },
        onFailure: (cause) => Either.match(Cause.failureOrCause(cause), { onLeft: retry, onRight: abandon })
      })
    })
    const retry = (failure: ProviderFailed) => {
      countCall(call, failure.kind)
      return Effect.flatMap(Random.next, (jitter) => {
        const delay = Option.filter(
          computeRetryDelay(failure, tries, jitter, policy),
          (wait) => now() + Duration.toMillis(wait) < deadline
        )
        if (Option.isSome(delay))
          return Effect.matchCauseEffect(restore(Effect.sleep(delay.value)), {
            onSuccess: () => next,
            onFailure: abandon
          })
        breakers.recordFailure(call, failure, now())
        return end(Either.left(failure))
      })
    }
    return next
  })
