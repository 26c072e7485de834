import { Context, Duration } from "effect"
import type { CircuitBreakerPolicy } from "./CircuitBreaker.ts"
import type { CallRetryPolicy } from "./CallRetryPolicy.ts"

/** The limits of the AI layer, which have defaults. */
export class AiSettings extends Context.Reference<AiSettings>()("@berth/AiSettings", {
  defaultValue: () => defaultAiSettings
}) {}

interface AiLimits {
  /** From the request to the first chunk of an answer, connecting included. */
  readonly firstByteTimeout: Duration.Duration
  /** Between two chunks of an answer. */
  readonly idleTimeout: Duration.Duration
  /** The whole answer, fallbacks included. */
  readonly totalTimeout: Duration.Duration
  /** Models and providers called for one answer; retries do not count. */
  readonly maxCalls: number
  readonly retry: CallRetryPolicy
  readonly breaker: CircuitBreakerPolicy
  /** How long the result of a health check is cached. */
  readonly healthTtl: Duration.Duration
  readonly healthTimeout: Duration.Duration
}

export const defaultAiSettings: AiLimits = {
  firstByteTimeout: Duration.seconds(30),
  idleTimeout: Duration.seconds(60),
  totalTimeout: Duration.minutes(10),
  maxCalls: 4,
  retry: { retries: 2, base: Duration.millis(250), maximumRetryAfter: Duration.seconds(5) },
  breaker: { failures: 5, cooldown: Duration.seconds(30) },
  healthTtl: Duration.seconds(15),
  healthTimeout: Duration.seconds(5)
}
