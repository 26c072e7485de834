import { Context, Duration } from "effect"
import type { CircuitBreakerPolicy } from "./CircuitBreaker.ts"
import type { CallRetryPolicy } from "./CallRetryPolicy.ts"

/** Limits of the AI layer, with defaults. */
export class AiSettings extends Context.Reference<AiSettings>()("@berth/AiSettings", {
  defaultValue: () => defaultAiSettings
}) {}

interface AiLimits {
  /** Time from the request to the first chunk of an answer, including the connection. */
  readonly firstByteTimeout: Duration.Duration
  /** Maximum time between two chunks of an answer. */
  readonly idleTimeout: Duration.Duration
  /** Maximum time of an answer, fallbacks included. */
  readonly totalTimeout: Duration.Duration
  /** Maximum models and providers called for one answer, without retries. */
  readonly maxCalls: number
  readonly retry: CallRetryPolicy
  readonly breaker: CircuitBreakerPolicy
  /** Cache duration of a health check. */
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
