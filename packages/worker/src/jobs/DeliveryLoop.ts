import { Effect, FiberSet } from "effect"
import { runLoop } from "./RecurringTask.ts"

/** Time to collect ended attempts, so that one claim fetches several deliveries. */
const claimPause = "10 millis"

/** Longer than an attempt. */
const drain = "20 seconds"

interface DeliveryLoop<A, E, R> {
  /** Maximum concurrent attempts, which wait for receivers outside of the queues' slots. */
  readonly slots: number
  readonly claim: (limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>
  readonly attempt: (claimed: A) => Effect.Effect<void, E, R>
  /** Waits until a delivery may be due. */
  readonly awaitDue: Effect.Effect<void, E, R>
}

/**
 * Attempts deliveries until the scope closes; a slow attempt does not delay others. Attempts in flight complete before
 * it closes.
 */
export const runDeliveryLoop = Effect.fnUntraced(function* <A, E, R>({
  attempt,
  awaitDue,
  claim,
  slots
}: DeliveryLoop<A, E, R>) {
  const fibers = yield* FiberSet.make<void>()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(fibers)), drain))
  // Opens after an attempt has ended, since its receiver then has room for the next one.
  const ended = yield* Effect.makeLatch(false)

  const start = (claimed: A) =>
    attempt(claimed).pipe(
      Effect.catchAllCause((cause) =>
        Effect.logWarning("Delivery attempt failed, repeated when its claim ends", cause)
      ),
      Effect.ensuring(ended.open),
      Effect.interruptible,
      FiberSet.run(fibers)
    )

  /** Uninterruptible: a claim without an attempt would block its receiver until the claim expires. */
  const claimAndStart = (limit: number) =>
    Effect.withTracerEnabled(claim(limit), false).pipe(
      Effect.tap(Effect.forEach(start, { discard: true })),
      Effect.uninterruptible
    )

  const round = Effect.gen(function* () {
    yield* ended.close
    const free = slots - (yield* FiberSet.size(fibers))
    const claimed = free > 0 ? yield* claimAndStart(free) : []
    if (claimed.length < free || free === 0)
      yield* Effect.race(
        Effect.zipLeft(ended.await, Effect.sleep(claimPause)),
        Effect.withTracerEnabled(awaitDue, false)
      )
  })
  yield* runLoop("Deliveries not claimed, retrying", round)
})
