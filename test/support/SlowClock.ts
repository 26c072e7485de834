import { Effect, Fiber, TestContext } from "effect"

/**
 * Runs an effect as on a host whose clock is at 1970. In a separate fiber, since a fiber keeps the clock of a provided
 * context.
 */
export const bySlowClock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.forkDaemon(Effect.provide(effect, TestContext.TestContext)), Fiber.join)
