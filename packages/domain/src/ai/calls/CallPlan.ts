import type { Model, ProviderName, TaskType } from "../models/Model.ts"
import { findModelRoutes, parseModelVendor } from "../models/ModelRoutes.ts"
import { rankModels, supportsImages, preferToolModels } from "../models/ModelSelection.ts"

export interface PlannedCall {
  readonly model: Model
  readonly provider: ProviderName
  /** Id of the owner's key (`OwnProvider`); absent for the platform's key. */
  readonly keyId?: string | undefined
}

/** Identifies the circuit breakers and metrics of a call. */
export interface CalledModel extends Pick<PlannedCall, "provider" | "keyId"> {
  readonly model: Pick<Model, "id">
}

interface CallPlanInput {
  readonly models: ReadonlyArray<Model>
  readonly configured: ReadonlySet<ProviderName>
  /** The requested or selected model; called first, even if it does not fit. */
  readonly first: Model
  readonly taskType: TaskType
  /** Tokens of prompt and answer; the minimum context window of a fallback. */
  readonly tokens: number
  readonly maxCalls: number
  /** Prefers models that accept tools. */
  readonly withTools?: boolean | undefined
  /** Excludes models without image input. */
  readonly withImages?: boolean | undefined
}

const ownCalls = ({ configured, first, maxCalls }: CallPlanInput): ReadonlyArray<PlannedCall> =>
  findModelRoutes(first, configured)
    .slice(0, maxCalls)
    .map((provider) => ({ model: first, provider }))

const planFallbacks = (input: CallPlanInput, own: ReadonlyArray<PlannedCall>): ReadonlyArray<PlannedCall> => {
  const plan = [...own]
  const ranked = rankModels(input.models, input.taskType)
  const others = input.withTools === true ? preferToolModels(ranked) : ranked
  const fits = (model: Model) =>
    model.available &&
    model.id !== input.first.id &&
    model.provider !== "sandbox" &&
    (input.withImages !== true || supportsImages(model)) &&
    model.contextWindow >= input.tokens
  const isFull = () => plan.length >= input.maxCalls
  const add = (isWanted: (model: Model, provider: ProviderName) => boolean) => {
    for (const model of others) {
      if (isFull()) return
      if (!fits(model)) continue
      const provider = findModelRoutes(model, input.configured).find((candidate) => isWanted(model, candidate))
      if (provider !== undefined) plan.push({ model, provider })
    }
  }
  const isCalled = (name: ProviderName) => plan.some((call) => call.provider === name)
  if (![...input.configured].every(isCalled)) add((_, provider) => !isCalled(provider))
  add((model) => plan.every((call) => parseModelVendor(call.model.id) !== parseModelVendor(model.id)))
  if (plan.length === own.length) add((model) => plan.every((call) => call.model.id !== model.id))
  return plan.slice(own.length, input.maxCalls)
}

/** A class, since V8 defines a computed member of an object literal in its runtime, which takes a microsecond. */
class CallPlan implements Iterable<PlannedCall> {
  constructor(private readonly input: CallPlanInput) {}

  *[Symbol.iterator]() {
    const own = ownCalls(this.input)
    yield* own
    yield* planFallbacks(this.input, own)
  }
}

/**
 * Lists the calls in order: the model at each of its providers, then the best fitting others, first at new providers,
 * then of new vendors. If all belong to one vendor, which may have retired the model, other models of that vendor
 * follow. Lazy: nearly all answers come from the first call.
 */
export const planCalls = (input: CallPlanInput): Iterable<PlannedCall> => new CallPlan(input)
