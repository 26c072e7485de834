import { Effect, Ref, Schedule } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

export interface TurnActivity {
  /** Turns that are worked on or wait. */
  readonly turns: number
  /** Turns that ever began. */
  readonly begun: number
}

export interface IdleGarbageCollectionOptions {
  readonly activity: Effect.Effect<TurnActivity>
  readonly collect: Effect.Effect<void>
}

/**
 * Clears away garbage when nothing is in work: once after the start, and after turns. By itself the engine does so
 * only when it needs the space, and what an idle cell holds is paid for every owner: some ten megabytes less of eighty.
 */
export const collectWhenIdle = ({ activity, collect }: IdleGarbageCollectionOptions): Effect.Effect<never> =>
  Effect.flatMap(Ref.make(-1), (cleared) =>
    Effect.flatMap(activity, ({ begun, turns }) =>
      Effect.flatMap(Ref.get(cleared), (last) =>
        turns > 0 || begun === last ? Effect.void : Effect.zipRight(Ref.set(cleared, begun), collect)
      )
    ).pipe(Effect.delay("1 second"), Effect.repeat(Schedule.spaced("4 seconds")), Effect.zipRight(Effect.never))
  )

/** The engine's own collection, which it gives out only when it is asked for by a flag. */
export const collectGarbage: Effect.Effect<void> = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  if (isCollector(collect)) collect()
})

const isCollector = (value: unknown): value is () => void => typeof value === "function"
