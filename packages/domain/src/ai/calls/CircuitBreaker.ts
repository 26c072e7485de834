import { Data, Duration } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"

/** Times are epoch milliseconds. `Probing` is one call let through after a rest, to see whether the provider is back. */
export type CircuitBreakerState = Data.TaggedEnum<{
  Closed: { readonly failures: number }
  Open: { readonly until: number }
  Probing: { readonly since: number }
}>
export const CircuitBreakerState = Data.taggedEnum<CircuitBreakerState>()

export interface CircuitBreakerPolicy {
  /** Failures in a row that open it. */
  readonly failures: number
  /** How long a provider is left alone. */
  readonly cooldown: Duration.Duration
}

/** Evidence of a call about its provider: `nothing` when it was interrupted or its request was rejected. */
export type CallVerdict = "up" | "down" | "nothing"

export const closedBreaker: CircuitBreakerState = CircuitBreakerState.Closed({ failures: 0 })

/** Whether a call may go out now, and the state after that. A probe that was never heard of again makes room for another. */
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

/** The state after a call was heard of. */
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
 * Classifies a failure for the provider and for its model. A failing model must not block the provider's others; a rejection or
 * a rate limit shows that the provider responds.
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
