import { HashMap, Option } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import {
  admitCall,
  type CircuitBreakerState,
  type CircuitBreakerPolicy,
  type CallVerdict,
  closedBreaker,
  recordCallVerdict,
  classifyFailure,
  describeBreaker
} from "./CircuitBreaker.ts"
import type { CalledModel } from "./CallPlan.ts"
import type { ProviderName } from "../models/Model.ts"
import type { BreakerStatus } from "../models/ProviderStatus.ts"

type Breakers = HashMap.HashMap<string, CircuitBreakerState>

const stateOf = (breakers: Breakers, key: string) => Option.getOrElse(HashMap.get(breakers, key), () => closedBreaker)

// An absent key means closed without failures.
const keep = (breakers: Breakers, key: string, state: CircuitBreakerState) =>
  state._tag === "Closed" && state.failures === 0 ? HashMap.remove(breakers, key) : HashMap.set(breakers, key, state)

// Own keys have separate breakers, since the key can cause their failures.
const keysOf = ({ keyId, model, provider }: CalledModel) => {
  const scope = keyId === undefined ? provider : `${ownPrefix}${keyId} ${provider}`
  return { provider: scope, model: `${scope} ${model.id}` }
}

const ownPrefix = "own "

// The number of own keys is unbounded; platform breakers are bounded by the catalog.
const maximumBreakers = 10_000

const evictOwn = (breakers: Breakers): Breakers =>
  HashMap.size(breakers) < maximumBreakers ? breakers : HashMap.filter(breakers, (_, key) => !key.startsWith(ownPrefix))

/** Breakers of this process: one per provider, and one per model at a provider. `now` is in epoch milliseconds. */
export const makeCircuitBreakers = (policy: CircuitBreakerPolicy) => {
  let breakers: Breakers = HashMap.empty()
  const record = (
    call: CalledModel,
    verdicts: { readonly provider: CallVerdict; readonly model: CallVerdict },
    now: number
  ): void => {
    const { provider, model } = keysOf(call)
    const updated = keep(
      evictOwn(breakers),
      provider,
      recordCallVerdict(stateOf(breakers, provider), verdicts.provider, now, policy)
    )
    breakers = keep(updated, model, recordCallVerdict(stateOf(updated, model), verdicts.model, now, policy))
  }
  return {
    /** Status of the breaker of calls with the platform's key. */
    findStatus: (provider: ProviderName, now: number): BreakerStatus =>
      describeBreaker(stateOf(breakers, provider), now),
    /** Returns whether a call is admitted. The outcome of each admitted call must be recorded. */
    admit: (call: CalledModel, now: number): boolean => {
      const { provider, model } = keysOf(call)
      const [providerMay, providerState] = admitCall(stateOf(breakers, provider), now, policy)
      const [modelMay, modelState] = admitCall(stateOf(breakers, model), now, policy)
      if (!providerMay || !modelMay) return false
      breakers = keep(keep(breakers, provider, providerState), model, modelState)
      return true
    },
    recordSuccess: (call: CalledModel, now: number): void => record(call, { provider: "up", model: "up" }, now),
    recordFailure: (call: CalledModel, failure: ProviderFailed, now: number): void =>
      record(call, classifyFailure(failure), now),
    recordAbandoned: (call: CalledModel, now: number): void =>
      record(call, { provider: "nothing", model: "nothing" }, now)
  }
}

export type CircuitBreakers = ReturnType<typeof makeCircuitBreakers>
