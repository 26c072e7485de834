import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { Effect, Layer, Ref } from "effect"

/** Sequential ids from 1: `usr_00000000000000000000000000000001`. */
export const layer: Layer.Layer<IdGenerator> = Layer.effect(
  IdGenerator,
  Effect.map(Ref.make(0), (count) =>
    IdGenerator.of({
      next: (prefix) =>
        Effect.map(
          Ref.updateAndGet(count, (before) => before + 1),
          (number) => `${prefix}_${number.toString(16).padStart(32, "0")}` as const
        )
    })
  )
)
