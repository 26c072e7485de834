import { Clock, Effect, HashMap, Option } from "effect"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import {
  admitCall,
  type CircuitBreakerState,
  type CircuitBreakerPolicy,
  type CallVerdict,
  closedBreaker,
  recordCallVerdict,
  classifyFailure
} from "./CircuitBreaker.ts"
import type { CalledModel } from "./CallPlan.ts"

type Breakers = HashMap.HashMap<string, CircuitBreakerState>

const stateOf = (breakers: Breakers, key: string) => Option.getOrElse(HashMap.get(breakers, key), () => closedBreaker)

// An absent key means closed without failures.
const keep = (breakers: Breakers, key: string, state: CircuitBreakerState) =>
  state._tag === "Closed" && state.failures === 0 ? HashMap.remove(breakers, key) : HashMap.set(breakers, key, state)

// Calls on an own key count for that key only.
const keysOf = ({ keyId, model, provider }: CalledModel) => {
  const whose = keyId === undefined ? provider : `${ownPrefix}${keyId} ${provider}`
  return { provider: whose, model: `${whose} ${model.id}` }
}

const ownPrefix = "own "

// Own keys come from outside; those of the platform are as many as its models at most.
const mostKept = 10_000

const forgetOwn = (breakers: Breakers): Breakers =>
  HashMap.size(breakers) < mostKept ? breakers : HashMap.filter(breakers, (_, key) => !key.startsWith(ownPrefix))

/** The circuit breakers of this process: one of each provider, and one of each model at each provider; own keys have theirs. */
export const makeCircuitBreakers = (policy: CircuitBreakerPolicy) =>
  Effect.sync(() => {
    let breakers: Breakers = HashMap.empty()
    const tell = (call: CalledModel, verdicts: { readonly provider: CallVerdict; readonly model: CallVerdict }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const { provider, model } = keysOf(call)
        const told = keep(
          forgetOwn(breakers),
          provider,
          recordCallVerdict(stateOf(breakers, provider), verdicts.provider, now, policy)
        )
        breakers = keep(told, model, recordCallVerdict(stateOf(told, model), verdicts.model, now, policy))
      })
    return {
      /** Whether this call may go out now; each call that may must be told of. */
      admit: (call: CalledModel): Effect.Effect<boolean> =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const { provider, model } = keysOf(call)
          const [providerMay, providerState] = admitCall(stateOf(breakers, provider), now, policy)
          const [modelMay, modelState] = admitCall(stateOf(breakers, model), now, policy)
          if (!providerMay || !modelMay) return false
          breakers = keep(keep(breakers, provider, providerState), model, modelState)
          return true
        }),
      recordSuccess: (call: CalledModel): Effect.Effect<void> => tell(call, { provider: "up", model: "up" }),
      recordFailure: (call: CalledModel, failure: ProviderFailed): Effect.Effect<void> =>
        tell(call, classifyFailure(failure)),
      recordAbandoned: (call: CalledModel): Effect.Effect<void> => tell(call, { provider: "nothing", model: "nothing" })
    }
  })

export type CircuitBreakers = Effect.Effect.Success<ReturnType<typeof makeCircuitBreakers>>
