import type { DateTime } from "effect"
import type { ProviderName } from "./Model.ts"
import type { ProviderFailureKind } from "./ModelErrors.ts"

/** The last calls of a provider with the platform's key; null before the first. */
export interface ProviderActivity {
  readonly lastSuccess: { readonly at: DateTime.Utc; readonly firstTextMs: number } | null
  readonly lastFailure: { readonly at: DateTime.Utc; readonly kind: ProviderFailureKind } | null
}

/** `probing`: the next call decides. */
export type BreakerStatus = "closed" | "open" | "probing"

/** A configured provider as one process sees it. */
export interface ProviderStatus extends ProviderActivity {
  readonly provider: ProviderName
  /** Whether its cheapest authenticated call succeeds. */
  readonly reachable: boolean
  readonly breaker: BreakerStatus
}
