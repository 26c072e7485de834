import { DateTime, Effect } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import type { ProviderActivity } from "../models/ProviderStatus.ts"
import type { CalledModel } from "./CallPlan.ts"

const none: ProviderActivity = { lastSuccess: null, lastFailure: null }

/** Last outcomes of each provider in this process, without calls by owners' keys. `now` is in epoch milliseconds. */
export const makeProviderActivities = Effect.sync(() => {
  const activities = new Map<ProviderName, ProviderActivity>()
  const find = (provider: ProviderName): ProviderActivity => activities.get(provider) ?? none
  const record = ({ keyId, provider }: CalledModel, change: Partial<ProviderActivity>): void => {
    if (keyId === undefined) activities.set(provider, { ...find(provider), ...change })
  }
  return {
    find,
    recordSuccess: (call: CalledModel, firstTextMs: number, now: number): void =>
      record(call, { lastSuccess: { at: DateTime.unsafeMake(now), firstTextMs } }),
    recordFailure: (call: CalledModel, { kind }: ProviderFailed, now: number): void =>
      record(call, { lastFailure: { at: DateTime.unsafeMake(now), kind } })
  }
})

export type ProviderActivities = Effect.Effect.Success<typeof makeProviderActivities>
