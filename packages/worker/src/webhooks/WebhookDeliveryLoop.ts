import { WebhookDispatch } from "@berth/domain/webhooks/WebhookDispatch"
import { Effect, FiberSet, Layer, Schedule } from "effect"

/** Attempts at once. They wait for receivers, without a share in the slots of the queues. */
const slots = 32

/** Attempts that end within this time make room for one claim of several deliveries. */
const claimPause = "10 millis"

/** Longer than an attempt. */
const drain = "20 seconds"

const backOff = Schedule.exponential("200 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered
)

/** Delivers outbound events for as long as the worker runs. Attempts in flight end before it stops. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { attempt, awaitDue, claim } = yield* WebhookDispatch
    const fibers = yield* FiberSet.make<void>()
    yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(fibers)), drain))
    // Opens when an attempt has ended: its endpoint has room for the next one.
    const ended = yield* Effect.makeLatch(false)

    const start = (claimed: Parameters<typeof attempt>[0]) =>
      attempt(claimed).pipe(
        Effect.catchAllCause((cause) =>
          Effect.logWarning("Webhook attempt failed, repeated when its claim ends", cause)
        ),
        Effect.ensuring(ended.open),
        Effect.interruptible,
        FiberSet.run(fibers)
      )

    /** A claim that no attempt follows would hold up its endpoint until the claim ends. */
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
    yield* round.pipe(
      Effect.sandbox,
      Effect.tapError((cause) => Effect.logWarning("Webhook deliveries not claimed, retrying", cause)),
      Effect.retry(backOff),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
