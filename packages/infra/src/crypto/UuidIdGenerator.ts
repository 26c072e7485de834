import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { Effect, Layer } from "effect"
import { v7 } from "uuid"

/** Ids of UUIDv7: `<prefix>_<32 hex digits>`. */
export const layer = Layer.succeed(
  IdGenerator,
  IdGenerator.of({ next: (prefix) => Effect.sync(() => `${prefix}_${v7().replaceAll("-", "")}` as const) })
)
