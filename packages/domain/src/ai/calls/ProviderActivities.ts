import { DateTime, Effect } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { ProviderActivity } from "../models/ProviderStatus.ts"
import type { CalledModel } from "./CallPlan.ts"

const none: ProviderActivity = { lastSuccess: null, lastFailure: null }

/** Per process: the last outcomes of each provider. Calls with owners' keys do not count. */
export const makeProviderActivities = Effect.sync(() => {
  const activities = new Map<ProviderName, ProviderActivity>()
  const find = (provider: ProviderName): ProviderActivity => activities.get(provider) ?? none
  const record = ({ keyId, provider }: CalledModel, change: (at: DateTime.Utc) => Partial<ProviderActivity>) =>
    keyId === undefined
      ? Effect.map(DateTime.now, (at) => void activities.set(provider, { ...find(provider), ...change(at) }))
      : Effect.void
  return {
    find,
    recordSuccess: (call: CalledModel, firstTextMs: number): Effect.Effect<void> =>
      record(call, (at) => ({ lastSuccess: { at, firstTextMs } })),
    recordFailure: (call: CalledModel, { kind }: ProviderFailed): Effect.Effect<void> =>
      record(call, (at) => ({ lastFailure: { at, kind } }))
  }
})

export type ProviderActivities = Effect.Effect.Success<typeof makeProviderActivities>
