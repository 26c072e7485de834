import { Effect, Ref, Schedule } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

interface TurnActivity {
  /** Turns in progress or waiting. */
  readonly turns: number
  readonly begun: number
}

interface IdleGarbageCollectionOptions {
  readonly activity: Effect.Effect<TurnActivity>
  readonly collect: Effect.Effect<void>
}

/** Collects garbage when idle, after the start and after turns; saves about 10 of 80 MB per idle instance. */
export const collectWhenIdle = ({ activity, collect }: IdleGarbageCollectionOptions): Effect.Effect<never> =>
  Effect.flatMap(Ref.make(-1), (cleared) =>
    Effect.flatMap(activity, ({ begun, turns }) =>
      Effect.flatMap(Ref.get(cleared), (last) =>
        turns > 0 || begun === last ? Effect.void : Effect.zipRight(Ref.set(cleared, begun), collect)
      )
    ).pipe(Effect.delay("1 second"), Effect.repeat(Schedule.spaced("4 seconds")), Effect.zipRight(Effect.never))
  )

/** V8 exposes its garbage collection by flag only. */
export const collectGarbage: Effect.Effect<void> = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  if (isCollector(collect)) collect()
})

const isCollector = (value: unknown): value is () => void => typeof value === "function"
