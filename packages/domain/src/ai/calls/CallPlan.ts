import type { Model, ProviderName, TaskType } from "../models/Model.ts"
import { findModelRoutes, parseModelVendor } from "../models/ModelRoutes.ts"
import { rankModels, supportsImages, preferToolModels } from "../models/ModelSelection.ts"

export interface PlannedCall {
  readonly model: Model
  readonly provider: ProviderName
  /** Of the owner's own key (`OwnProvider`); absent where the platform pays. */
  readonly keyId?: string | undefined
}

/** As much of a call as its breakers and figures are told apart by. */
export interface CalledModel extends Pick<PlannedCall, "provider" | "keyId"> {
  readonly model: Pick<Model, "id">
}

export interface CallPlanInput {
  readonly models: ReadonlyArray<Model>
  readonly configured: ReadonlySet<ProviderName>
  /** The model that was asked for or selected; it comes first whether it fits or not. */
  readonly first: Model
  readonly taskType: TaskType
  /** Tokens that prompt and answer need; a model to fall back to has at least this much context. */
  readonly tokens: number
  readonly maxCalls: number
  /** Whether tools are on offer; models that take some are preferred then, as far as that is known. */
  readonly withTools?: boolean | undefined
  /** Whether there are images to be seen; models that see none are out then. */
  readonly withImages?: boolean | undefined
}

/** The model itself at each provider that runs it. */
const ownCalls = ({ configured, first, maxCalls }: CallPlanInput): ReadonlyArray<PlannedCall> =>
  findModelRoutes(first, configured)
    .slice(0, maxCalls)
    .map((provider) => ({ model: first, provider }))

/**
 * Calls in order of attempt: the model at each of its providers, then the best other suitable models, one at each provider not
 * called yet before further ones of other vendors. The sandbox is no fallback for other models.
 */
export const planCalls = (input: CallPlanInput): ReadonlyArray<PlannedCall> => {
  const plan = [...ownCalls(input)]
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
  return plan.slice(0, input.maxCalls)
}

/** The same plan, made as far as it is gone through: nearly all answers come from the first call. */
export const planCallsLazily = (input: CallPlanInput): Iterable<PlannedCall> => ({
  *[Symbol.iterator]() {
    const own = ownCalls(input)
    yield* own
    yield* planCalls(input).slice(own.length)
  }
})
