import { Context, Duration } from "effect"
import type { CircuitBreakerPolicy } from "./CircuitBreaker.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"

export interface AiSettings {
  /** From the request to the first sign of life of an answer, connecting included. */
  readonly firstByteTimeout: Duration.Duration
  /** Between two pieces of an answer. */
  readonly idleTimeout: Duration.Duration
  /** The whole answer, fallbacks included. */
  readonly totalTimeout: Duration.Duration
  /** Models and providers called for one answer, further tries of the same not counted. */
  readonly maxCalls: number
  readonly retry: RetryPolicy
  readonly breaker: CircuitBreakerPolicy
  /** How long what the providers said of their health stands. */
  readonly healthTtl: Duration.Duration
  readonly healthTimeout: Duration.Duration
}

export const defaultAiSettings: AiSettings = {
  firstByteTimeout: Duration.seconds(30),
  idleTimeout: Duration.seconds(60),
  totalTimeout: Duration.minutes(10),
  maxCalls: 4,
  retry: { retries: 2, base: Duration.millis(250), maximumRetryAfter: Duration.seconds(5) },
  breaker: { failures: 5, cooldown: Duration.seconds(30) },
  healthTtl: Duration.seconds(15),
  healthTimeout: Duration.seconds(5)
}

/** The AI layer's limits; what is not provided is the default. */
export class CurrentAiSettings extends Context.Reference<CurrentAiSettings>()("@berth/CurrentAiSettings", {
  defaultValue: () => defaultAiSettings
}) {}
