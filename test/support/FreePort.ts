import { findBindablePort } from "@berth/infra/net/PortProbe"
import { Effect, Random } from "effect"

/**
 * A free TCP port of the loopback address outside the ephemeral range, from which the system could assign it before
 * the listener starts.
 */
export const freePort: Effect.Effect<number> = Effect.flatMap(Random.nextIntBetween(10_000, 32_000), (port) =>
  findBindablePort(port, "127.0.0.1")
).pipe(Effect.flatten, Effect.retry({ times: 100 }), Effect.orDie)
