import { findBindablePort } from "@berth/infra/net/PortProbe"
import { Effect, Random } from "effect"

/**
 * A TCP port that is free on the loopback address now, and not one that the system gives to whoever asks for any, or connects
 * somewhere: whoever is to listen there may take a while to start.
 */
export const freePort: Effect.Effect<number> = Effect.flatMap(Random.nextIntBetween(10_000, 32_000), (port) =>
  findBindablePort(port, "127.0.0.1")
).pipe(Effect.flatten, Effect.retry({ times: 100 }), Effect.orDie)
