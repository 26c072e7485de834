import { Effect, Metric } from "effect"

const waiting = Metric.gauge("password_hashes_waiting", { description: "Password hashes in work or in line" })

/**
 * Lets so many pieces of work run at once that cannot be called back; the rest wait in line. A caller that leaves while he
 * waits gives up his place; one that leaves during the work keeps its turn until the work is done.
 */
export const makeWorkTurns = (atOnce: number) =>
  Effect.map(
    Effect.makeSemaphore(atOnce),
    (turns) =>
      <A>(work: () => Promise<A>) =>
        Effect.acquireUseRelease(
          Metric.incrementBy(waiting, 1),
          () => turns.withPermits(1)(Effect.uninterruptible(Effect.promise(work))),
          () => Metric.incrementBy(waiting, -1)
        )
  )
