import type { DateTime } from "effect"
import type { ProviderName } from "./Model.ts"
import type { ProviderFailureKind } from "./ModelErrors.ts"

/** Last calls of a provider with the platform's key; null before the first call. */
export interface ProviderActivity {
  readonly lastSuccess: { readonly at: DateTime.Utc; readonly firstTextMs: number } | null
  readonly lastFailure: { readonly at: DateTime.Utc; readonly kind: ProviderFailureKind } | null
}

/** `probing`: the next call decides. */
export type BreakerStatus = "closed" | "open" | "probing"

/** Status of a configured provider in one process. */
export interface ProviderStatus extends ProviderActivity {
  readonly provider: ProviderName
  /** Whether the provider's cheapest authenticated call succeeds. */
  readonly reachable: boolean
  readonly breaker: BreakerStatus
}
