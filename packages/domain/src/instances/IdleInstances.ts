import { DateTime, Duration, Effect, Option, Schedule } from "effect"
import type { UserId } from "../shared/UserId.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { InstanceSettings } from "./InstanceSettings.ts"
import { InstanceShutdown } from "./InstanceShutdown.ts"

/** A use is recorded again after this fraction of the idle time, so an instance sleeps at most that much early. */
const recordedPart = 4

/** Interval of the records of use and of the scan for idle instances. */
export const makeUseInterval = (idleAfter: Duration.Duration): Duration.Duration =>
  Duration.unsafeDivide(idleAfter, recordedPart)

/** Stops unused instances. Their agents keep their status, and the next turn starts the instance again. */
export class IdleInstances extends Effect.Service<IdleInstances>()("@berth/IdleInstances", {
  dependencies: [InstanceShutdown.Default],
  scoped: Effect.gen(function* () {
    const instances = yield* InstanceRepository
    const shutdown = yield* InstanceShutdown
    const { idleAfter } = yield* InstanceSettings
    /** Turns in progress per owner in this process, with the time of the last record of use. */
    const uses = new Map<UserId, { turns: number; recordedAt: number }>()

    const release = (userId: UserId) =>
      Effect.sync(() => {
        const use = uses.get(userId)
        if (use !== undefined) use.turns -= 1
      })

    const acquire = Effect.fnUntraced(function* (userId: UserId, interval: Duration.Duration) {
      const now = (yield* DateTime.now).epochMillis
      const use = uses.get(userId) ?? { turns: 0, recordedAt: 0 }
      uses.set(userId, use)
      use.turns += 1
      if (now - use.recordedAt < Duration.toMillis(interval)) return true
      const recorded = yield* Effect.onError(instances.recordUse([userId]), () => release(userId))
      const isUp = recorded.has(userId)
      if (isUp) use.recordedAt = now
      return isUp
    }, Effect.uninterruptible)

    /**
     * Keeps the instance running until the scope closes. False if it is asleep or down; then the caller must start it.
     */
    const use = (userId: UserId) =>
      Option.match(idleAfter, {
        onNone: () => Effect.succeed(true),
        onSome: (idle) => Effect.acquireRelease(acquire(userId, makeUseInterval(idle)), () => release(userId))
      })

    const scan = Effect.fn("IdleInstances.scan")(function* (idle: Duration.Duration) {
      const now = yield* DateTime.now
      for (const [userId, { recordedAt, turns }] of uses)
        if (turns === 0 && recordedAt < now.epochMillis - Duration.toMillis(idle)) uses.delete(userId)
      yield* instances.recordUse([...uses].flatMap(([userId, { turns }]) => (turns > 0 ? [userId] : [])))
      const idleSince = DateTime.subtractDuration(now, idle)
      yield* Effect.forEach(
        yield* instances.listUnused(idleSince),
        (userId) =>
          Effect.catchAllCause(shutdown.sleep(userId, idleSince), (cause) =>
            Effect.logWarning("Idle instance not stopped", cause).pipe(Effect.annotateLogs({ userId }))
          ),
        { concurrency: 4, discard: true }
      )
    })

    if (Option.isSome(idleAfter))
      yield* scan(idleAfter.value).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Scan for idle instances failed", cause)),
        Effect.schedule(Schedule.spaced(makeUseInterval(idleAfter.value))),
        Effect.interruptible,
        Effect.forkScoped
      )

    return { use, scan }
  })
}) {}
