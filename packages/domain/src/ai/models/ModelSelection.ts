import { Either, Order } from "effect"
import { oncePerObject } from "../../shared/ObjectMemo.ts"
import { type Model, TaskType } from "./Model.ts"
import { ModelsUnavailable } from "./ModelErrors.ts"

/** Absent and unknown task types mean general. */
export const parseTaskType = (text: string | null | undefined): TaskType =>
  TaskType.literals.find((known) => known === text) ?? "general"

/** US dollars per million tokens, for three input tokens per output token. */
export const computeBlendedCost = (model: Pick<Model, "inputCost" | "outputCost">): number =>
  (3 * model.inputCost + model.outputCost) / 4

interface SelectionProfile {
  /** US dollars per million blended tokens. */
  readonly budget: number
  /** Minimum tokens of context. */
  readonly context: number
  /** Preference among the models within these limits: the most able, then by price; or the cheapest. */
  readonly prefer: "able" | "cheap"
}

const profiles: Record<TaskType, SelectionProfile> = {
  general: { budget: 8, context: 200_000, prefer: "able" },
  coding: { budget: 10, context: 200_000, prefer: "able" },
  analysis: { budget: 10, context: 200_000, prefer: "able" },
  creative: { budget: 10, context: 128_000, prefer: "able" },
  fast: { budget: 1, context: 100_000, prefer: "cheap" },
  vision: { budget: 8, context: 200_000, prefer: "able" }
}

const falseLast = <A>(predicate: (value: A) => boolean): Order.Order<A> =>
  Order.mapInput(Order.reverse(Order.boolean), predicate)

const isReal = ({ provider }: Model) => provider !== "sandbox"

const rankingFor = (taskType: TaskType): Order.Order<Model> => {
  const { budget, context, prefer } = profiles[taskType]
  const isAffordable = (model: Model) => computeBlendedCost(model) <= budget
  const cheapest = Order.mapInput(Order.number, computeBlendedCost)
  const dearest = Order.reverse(cheapest)
  return Order.combineAll<Model>([
    falseLast((model) => model.available),
    // The sandbox ranks below every real model.
    falseLast(isReal),
    falseLast((model) => model.tags.includes(taskType)),
    // General models before specialized ones.
    falseLast((model) => model.tags.includes("general")),
    falseLast(isAffordable),
    falseLast((model) => model.contextWindow >= context),
    (self, that) => (prefer === "able" && isAffordable(self) ? dearest(self, that) : cheapest(self, that)),
    Order.mapInput(Order.reverse(Order.number), (model: Model) => model.contextWindow),
    // Ids end in the version, so the later version comes first.
    Order.mapInput(Order.reverse(Order.string), (model: Model) => model.id)
  ])
}

// Cached by the catalog's array, which is replaced when the catalog changes.
const rankingsOf = oncePerObject((_: ReadonlyArray<Model>) => new Map<TaskType, ReadonlyArray<Model>>())

/** Ranks the models for a task, the best first. */
export const rankModels = (models: ReadonlyArray<Model>, taskType: TaskType): ReadonlyArray<Model> => {
  const known = rankingsOf(models)
  const ranked = known.get(taskType) ?? [...models].sort(rankingFor(taskType))
  known.set(taskType, ranked)
  return ranked
}

/** Orders models with tools first and models without tools last, unknown ones between. */
export const preferToolModels = (ranked: ReadonlyArray<Model>): ReadonlyArray<Model> =>
  [true, undefined, false].flatMap((takes) => ranked.filter(({ takesTools }) => takesTools === takes))

export const supportsImages = ({ tags }: Model): boolean => tags.includes("vision")

/** Returns the models with image input. Memoized by catalog. */
export const filterVisionModels = oncePerObject((models: ReadonlyArray<Model>): ReadonlyArray<Model> =>
  models.filter(supportsImages)
)

/** Returns the best available model for a task; `withTools` excludes models known not to accept tools. */
export const selectModel = (
  models: ReadonlyArray<Model>,
  taskType: TaskType,
  withTools = false
): Either.Either<Model, ModelsUnavailable> => {
  const ranked = rankModels(models, taskType)
  const best =
    (withTools ? ranked.find((model) => model.available && isReal(model) && model.takesTools !== false) : undefined) ??
    ranked[0]
  return best?.available === true ? Either.right(best) : Either.left(new ModelsUnavailable({ taskType }))
}
