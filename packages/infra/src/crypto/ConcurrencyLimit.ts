import { Duration, Effect, Metric, Ref } from "effect"
import { DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"

const waiting = Metric.gauge("berth_password_hashes_waiting", { description: "Password hashes in progress or queued" })

interface ConcurrencyLimits {
  readonly maxConcurrent: number
  /** Maximum waiting calls; a further call fails with `DependencyUnavailable`. */
  readonly maxWaiting: number
}

const retryAfter = Duration.seconds(2)

/**
 * Limits concurrent promises, which cannot be canceled. An interrupted caller leaves the queue; if it is interrupted
 * during the work, its permit is returned when the promise settles.
 */
export const makeConcurrencyLimit = ({ maxConcurrent, maxWaiting }: ConcurrencyLimits) =>
  Effect.map(Effect.all([Effect.makeSemaphore(maxConcurrent), Ref.make(0)]), ([permits, callCount]) => {
    const enter = Effect.zipRight(
      Effect.filterOrDie(
        Ref.modify(callCount, (count) => (count < maxConcurrent + maxWaiting ? [true, count + 1] : [false, count])),
        (isAdmitted) => isAdmitted,
        () => new DependencyUnavailable({ dependency: "the hashing of passwords", retryAfter })
      ),
      Metric.incrementBy(waiting, 1)
    )
    const leave = Effect.zipRight(
      Ref.update(callCount, (count) => count - 1),
      Metric.incrementBy(waiting, -1)
    )
    return <A>(work: () => Promise<A>): Effect.Effect<A> =>
      Effect.acquireUseRelease(
        enter,
        () => permits.withPermits(1)(Effect.uninterruptible(Effect.promise(work))),
        () => leave
      )
  })
