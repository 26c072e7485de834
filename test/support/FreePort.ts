import { bindable } from "@berth/infra/net/FreePort"
import { Effect } from "effect"

/** A TCP port that is free on the loopback address now. */
export const freePort: Effect.Effect<number> = Effect.orDie(Effect.flatten(bindable(0, "127.0.0.1")))
