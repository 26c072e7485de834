import { Data, Duration } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { BreakerStatus } from "../models/ProviderStatus.ts"

/** Times are epoch milliseconds. `Probing`: one call is admitted after the cooldown. */
export type CircuitBreakerState = Data.TaggedEnum<{
  Closed: { readonly failures: number }
  Open: { readonly until: number }
  Probing: { readonly since: number }
}>
export const CircuitBreakerState = Data.taggedEnum<CircuitBreakerState>()

export interface CircuitBreakerPolicy {
  /** Consecutive failures that open the breaker. */
  readonly failures: number
  /** Time in state `Open`. */
  readonly cooldown: Duration.Duration
}

/** Evidence of a call about availability; `nothing` for an interrupted call. */
export type CallVerdict = "up" | "down" | "nothing"

export const closedBreaker: CircuitBreakerState = CircuitBreakerState.Closed({ failures: 0 })

export const describeBreaker = (state: CircuitBreakerState, now: number): BreakerStatus =>
  CircuitBreakerState.$match(state, {
    Closed: () => "closed" as const,
    Open: ({ until }) => (now < until ? ("open" as const) : ("probing" as const)),
    Probing: () => "probing" as const
  })

/** Returns whether a call is admitted, and the next state. A probe without a verdict is replaced after the cooldown. */
export const admitCall = (
  state: CircuitBreakerState,
  now: number,
  policy: CircuitBreakerPolicy
): readonly [boolean, CircuitBreakerState] =>
  CircuitBreakerState.$match(state, {
    Closed: () => [true, state] as const,
    Open: ({ until }) =>
      now >= until ? ([true, CircuitBreakerState.Probing({ since: now })] as const) : ([false, state] as const),
    Probing: ({ since }) =>
      now - since >= Duration.toMillis(policy.cooldown)
        ? ([true, CircuitBreakerState.Probing({ since: now })] as const)
        : ([false, state] as const)
  })

export const recordCallVerdict = (
  state: CircuitBreakerState,
  verdict: CallVerdict,
  now: number,
  policy: CircuitBreakerPolicy
): CircuitBreakerState => {
  const open = CircuitBreakerState.Open({ until: now + Duration.toMillis(policy.cooldown) })
  switch (verdict) {
    case "up":
      return closedBreaker
    case "down":
      return CircuitBreakerState.$match(state, {
        Closed: ({ failures }) =>
          failures + 1 >= policy.failures ? open : CircuitBreakerState.Closed({ failures: failures + 1 }),
        Open: (): CircuitBreakerState => state,
        Probing: (): CircuitBreakerState => open
      })
    case "nothing":
      return state._tag === "Probing" ? CircuitBreakerState.Open({ until: now }) : state
  }
}

/**
 * Verdicts of a failure on its provider and its model. A refusal or a rate limit is about the request, not the
 * provider.
 */
export const classifyFailure = (
  failure: ProviderFailed
): { readonly provider: CallVerdict; readonly model: CallVerdict } => {
  switch (failure.kind) {
    case "unreachable":
    case "unauthorized":
      return { provider: "down", model: "nothing" }
    case "timeout":
    case "nonsense":
      return { provider: "nothing", model: "down" }
    case "overloaded":
      return { provider: "up", model: "down" }
    case "refused":
    case "rate-limited":
      return { provider: "up", model: "nothing" }
  }
}
