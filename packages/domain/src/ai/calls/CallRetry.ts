import { Clock, Duration, Effect, Either, Option, Random } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { CircuitBreakers } from "./CircuitBreakers.ts"
import { countCall } from "./ModelTelemetry.ts"
import type { CalledModel } from "./CallPlan.ts"
import { computeRetryDelay, type CallRetryPolicy } from "./CallRetryPolicy.ts"

export interface RetriedCall<A> {
  readonly result: Either.Either<A, ProviderFailed>
  readonly tries: number
}

export interface CallRetryOptions {
  readonly call: CalledModel
  /** Epoch milliseconds after which no retry starts. */
  readonly deadline: number
  readonly policy: CallRetryPolicy
}

/** Retries a call while its failure is transient. */
export const retryCall = <A, R>(
  once: Effect.Effect<A, ProviderFailed, R>,
  { call, deadline, policy }: CallRetryOptions
): Effect.Effect<RetriedCall<A>, never, R> =>
  Effect.suspend(() => {
    let tries = 0
    const attempt: Effect.Effect<A, ProviderFailed, R> = Effect.suspend(() => {
      tries += 1
      return once
    }).pipe(
      Effect.catchAll((failure) =>
        Effect.gen(function* () {
          countCall(call, failure.kind)
          const jitter = yield* Random.next
          const now = yield* Clock.currentTimeMillis
          const delay = computeRetryDelay(failure, tries, jitter, policy).pipe(
            Option.filter((wait) => now + Duration.toMillis(wait) < deadline)
          )
          return yield* Option.match(delay, {
            onNone: () => Effect.fail(failure),
            onSome: (wait) => Effect.zipRight(Effect.sleep(wait), attempt)
          })
        })
      )
    )
    return Effect.map(Effect.either(attempt), (result) => ({ result, tries }))
  })

/** Runs an admitted call and records its outcome; none for one that is not admitted. */
export const withCircuitBreakers = <A, R>(
  breakers: CircuitBreakers,
  call: CalledModel,
  trying: Effect.Effect<RetriedCall<A>, never, R>
): Effect.Effect<Option.Option<RetriedCall<A>>, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(breakers.admit(call), (may) =>
      may
        ? Effect.matchCauseEffect(restore(trying), {
            onFailure: (cause) => Effect.zipRight(breakers.recordAbandoned(call), Effect.failCause(cause)),
            onSuccess: (retried) =>
              Effect.as(
                Either.match(retried.result, {
                  onLeft: (failure) => breakers.recordFailure(call, failure),
                  onRight: () => breakers.recordSuccess(call)
                }),
                Option.some(retried)
              )
          })
        : Effect.succeedNone
    )
  )
