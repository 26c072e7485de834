import { acquireScoped } from "@berth/domain/shared/AcquireScoped"
import { runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import { Context, Data, Deferred, Duration, Effect, Layer, Ref, type Scope } from "effect"

export class RuntimeStopping extends Data.TaggedError("RuntimeStopping")<object> {}

/** Graceful shutdown: no new turns, limited time for those in progress. */
export class Drain extends Context.Tag("@berth/runtime/Drain")<
  Drain,
  {
    /** The turn ends with the scope. */
    readonly admitTurn: Effect.Effect<void, RuntimeStopping, Scope.Scope>
    /** Turns in progress, and turns ever begun. */
    readonly activity: Effect.Effect<{ readonly turns: number; readonly begun: number }>
    /** Never succeeds. */
    readonly awaitDeadline: Effect.Effect<never, RuntimeStopping>
    /** Rejects turns from now on and waits for those in progress, within the drain limit. */
    readonly drain: Effect.Effect<void>
  }
>() {}

export const layer = Layer.effect(
  Drain,
  Effect.gen(function* () {
    const state = yield* Ref.make({ ending: false, turns: 0, begun: 0 })
    const idle = yield* Deferred.make<void>()
    const over = yield* Deferred.make<never, RuntimeStopping>()

    const signalIdle = Effect.flatMap(Ref.get(state), ({ ending, turns }) =>
      ending && turns === 0 ? Deferred.succeed(idle, undefined) : Effect.void
    )
    const begin = Effect.filterOrFail(
      Ref.updateAndGet(state, (now) => (now.ending ? now : { ...now, turns: now.turns + 1, begun: now.begun + 1 })),
      ({ ending }) => !ending,
      () => new RuntimeStopping()
    )
    const leave = Effect.zipRight(
      Ref.update(state, (now) => ({ ...now, turns: now.turns - 1 })),
      signalIdle
    )
    return Drain.of({
      admitTurn: acquireScoped(begin, () => leave),
      activity: Ref.get(state),
      awaitDeadline: Deferred.await(over),
      drain: Ref.update(state, (now) => ({ ...now, ending: true })).pipe(
        Effect.zipRight(signalIdle),
        // Finalizers are uninterruptible; a timeout needs an interruptible effect.
        Effect.zipRight(
          Effect.timeoutOption(Effect.interruptible(Deferred.await(idle)), Duration.seconds(runtimeDrainSeconds))
        ),
        Effect.zipRight(Deferred.fail(over, new RuntimeStopping()))
      )
    })
  })
)

/** Must close before the listener. */
export const drainOnClose = Layer.scopedDiscard(Effect.flatMap(Drain, ({ drain }) => Effect.addFinalizer(() => drain)))
