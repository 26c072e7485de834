import { acquireScoped } from "@berth/domain/shared/AcquireScoped"
import { runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import { runStoppable } from "@berth/domain/shared/StoppableWork"
import { Context, Data, Deferred, Duration, Effect, Layer, Option, type Scope } from "effect"

export class RuntimeStopping extends Data.TaggedError("RuntimeStopping")<object> {}

/** Graceful shutdown: no new turns, and limited time for those in progress. */
export class Drain extends Context.Tag("@berth/runtime/Drain")<
  Drain,
  {
    /** Admits a turn until the scope closes. */
    readonly admitTurn: Effect.Effect<void, RuntimeStopping, Scope.Scope>
    /** Number of turns in progress, and of all turns so far. */
    readonly activity: Effect.Effect<{ readonly turns: number; readonly begun: number }>
    /** Runs work until the drain limit, which interrupts it. */
    readonly untilDeadline: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | RuntimeStopping, R>
    /** Rejects new turns and waits for those in progress, within the drain limit. */
    readonly drain: Effect.Effect<void>
  }
>() {}

export const layer = Layer.effect(
  Drain,
  Effect.gen(function* () {
    let isEnding = false
    let isOver = false
    let turns = 0
    let begun = 0
    const idle = yield* Deferred.make<void>()
    const stops = new Set<() => void>()

    const signalIdle = Effect.suspend(() => (isEnding && turns === 0 ? Deferred.succeed(idle, undefined) : Effect.void))
    const enter = Effect.suspend(() => {
      if (isEnding) return new RuntimeStopping()
      turns += 1
      begun += 1
      return Effect.void
    })
    const leave = Effect.suspend(() => {
      turns -= 1
      return signalIdle
    })
    return Drain.of({
      admitTurn: acquireScoped(enter, () => leave),
      activity: Effect.sync(() => ({ turns, begun })),
      untilDeadline: (work) =>
        Effect.flatMap(
          runStoppable(work, (stop) => {
            stops.add(stop)
            if (isOver) stop()
            return () => stops.delete(stop)
          }),
          Option.match({ onNone: () => new RuntimeStopping(), onSome: Effect.succeed })
        ),
      drain: Effect.sync(() => {
        isEnding = true
      }).pipe(
        Effect.zipRight(signalIdle),
        // Finalizers are uninterruptible, but a timeout requires an interruptible effect.
        Effect.zipRight(
          Effect.timeoutOption(Effect.interruptible(Deferred.await(idle)), Duration.seconds(runtimeDrainSeconds))
        ),
        Effect.zipRight(
          Effect.sync(() => {
            isOver = true
            for (const stop of stops) stop()
          })
        )
      )
    })
  })
)

/** Must close before the listener. */
export const drainOnClose = Layer.scopedDiscard(Effect.flatMap(Drain, ({ drain }) => Effect.addFinalizer(() => drain)))
