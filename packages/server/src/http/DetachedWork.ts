import { Context, Deferred, Effect, FiberSet, Layer } from "effect"

/** Work of a listener that continues after its clients disconnect, at most until the drain limit. */
export class DetachedWork extends Context.Tag("@berth/DetachedWork")<
  DetachedWork,
  FiberSet.FiberSet<unknown, unknown>
>() {}

/** Closing waits for the work until `drainLimit`, then interrupts it. */
export const layer = (drainLimit: Deferred.Deferred<void>) =>
  Layer.scoped(
    DetachedWork,
    Effect.gen(function* () {
      const fibers = yield* FiberSet.make<unknown, unknown>()
      const ended = Effect.interruptible(FiberSet.awaitEmpty(fibers))
      yield* Effect.addFinalizer(() => Effect.raceFirst(ended, Effect.interruptible(Deferred.await(drainLimit))))
      return fibers
    })
  )
