import { runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import { Context, Data, Deferred, Duration, Effect, Layer, Ref, type Scope } from "effect"

/** The cell was asked to end. */
export class RuntimeStopping extends Data.TaggedError("RuntimeStopping")<object> {}

/** The end of a cell in good order: no new turns, and those in work get some time. */
export class Drain extends Context.Tag("@berth/runtime/Drain")<
  Drain,
  {
    /** A turn begins; it ends with the scope. */
    readonly admitTurn: Effect.Effect<void, RuntimeStopping, Scope.Scope>
    /** How many turns are here, and how many ever began. */
    readonly activity: Effect.Effect<{ readonly turns: number; readonly begun: number }>
    /** Fails when the time is up; never succeeds. */
    readonly awaitDeadline: Effect.Effect<never, RuntimeStopping>
    /** Refuses turns from now on and waits for those in work, for as long as they are given. */
    readonly drain: Effect.Effect<void>
  }
>() {}

export const layer = Layer.effect(
  Drain,
  Effect.gen(function* () {
    const state = yield* Ref.make({ ending: false, turns: 0, begun: 0 })
    const idle = yield* Deferred.make<void>()
    const over = yield* Deferred.make<never, RuntimeStopping>()

    const tellIdle = Effect.flatMap(Ref.get(state), ({ ending, turns }) =>
      ending && turns === 0 ? Deferred.succeed(idle, undefined) : Effect.void
    )
    const begin = Effect.filterOrFail(
      Ref.updateAndGet(state, (now) => (now.ending ? now : { ...now, turns: now.turns + 1, begun: now.begun + 1 })),
      ({ ending }) => !ending,
      () => new RuntimeStopping()
    )
    const leave = Effect.zipRight(
      Ref.update(state, (now) => ({ ...now, turns: now.turns - 1 })),
      tellIdle
    )
    return Drain.of({
      admitTurn: Effect.acquireRelease(begin, () => leave),
      activity: Ref.get(state),
      awaitDeadline: Deferred.await(over),
      drain: Ref.update(state, (now) => ({ ...now, ending: true })).pipe(
        Effect.zipRight(tellIdle),
        // It runs in finalizers, which are uninterruptible, and a timeout needs something it can interrupt.
        Effect.zipRight(
          Effect.timeoutOption(Effect.interruptible(Deferred.await(idle)), Duration.seconds(runtimeDrainSeconds))
        ),
        Effect.zipRight(Deferred.fail(over, new RuntimeStopping()))
      )
    })
  })
)

/** Drains when it is closed: to be closed before the listener takes its handler away. */
export const drainOnClose = Layer.scopedDiscard(Effect.flatMap(Drain, ({ drain }) => Effect.addFinalizer(() => drain)))
