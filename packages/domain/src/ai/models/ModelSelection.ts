import { Either, Order, Schema } from "effect"
import { type Model, TaskType } from "./Model.ts"
import { ModelsUnavailable } from "./ModelErrors.ts"

const isTaskType = Schema.is(TaskType)

/** Unknown and absent task types are general. */
export const parseTaskType = (asked: string | null | undefined): TaskType => (isTaskType(asked) ? asked : "general")

/** US dollars per million tokens of a conversation with three tokens in for each one out. */
export const computeBlendedCost = (model: Pick<Model, "inputCost" | "outputCost">): number =>
  (3 * model.inputCost + model.outputCost) / 4

interface Taste {
  /** US dollars per million blended tokens that a task is worth. */
  readonly budget: number
  /** Tokens of context that today's models for it have. */
  readonly context: number
  /** Among those that qualify: the most able, for which price is the best sign there is, or the cheapest. */
  readonly prefer: "able" | "cheap"
}

const tastes: Record<TaskType, Taste> = {
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
  const { budget, context, prefer } = tastes[taskType]
  const isAffordable = (model: Model) => computeBlendedCost(model) <= budget
  const cheapest = Order.mapInput(Order.number, computeBlendedCost)
  const dearest = Order.reverse(cheapest)
  return Order.combineAll<Model>([
    falseLast((model) => model.available),
    // The sandbox stands in where nothing else is there, and never before a real model.
    falseLast(isReal),
    falseLast((model) => model.tags.includes(taskType)),
    // All-rounders before what is made for one thing and does less well around it.
    falseLast((model) => model.tags.includes("general")),
    falseLast(isAffordable),
    falseLast((model) => model.contextWindow >= context),
    (self, that) => (prefer === "able" && isAffordable(self) ? dearest(self, that) : cheapest(self, that)),
    Order.mapInput(Order.reverse(Order.number), (model: Model) => model.contextWindow),
    // Of the same family the later version: ids end in it.
    Order.mapInput(Order.reverse(Order.string), (model: Model) => model.id)
  ])
}

// A catalogue is one array until it changes, and is asked for the same few tasks again and again.
const rankings = new WeakMap<ReadonlyArray<Model>, Map<TaskType, ReadonlyArray<Model>>>()

/** Models for a task, the best first: available before not, tagged for it, within what it is worth, with room for it. */
export const rankModels = (models: ReadonlyArray<Model>, taskType: TaskType): ReadonlyArray<Model> => {
  const known = rankings.get(models) ?? new Map<TaskType, ReadonlyArray<Model>>()
  rankings.set(models, known)
  const ranked = known.get(taskType) ?? [...models].sort(rankingFor(taskType))
  known.set(taskType, ranked)
  return ranked
}

/** The same order with those first that are known to take tools, and those last that are known not to. */
export const preferToolModels = (ranked: ReadonlyArray<Model>): ReadonlyArray<Model> =>
  [true, undefined, false].flatMap((takes) => ranked.filter(({ takesTools }) => takesTools === takes))

export const supportsImages = ({ tags }: Model): boolean => tags.includes("vision")

const seers = new WeakMap<ReadonlyArray<Model>, ReadonlyArray<Model>>()

/** The models of a catalogue that see images; the same array for the same catalogue. */
export const filterVisionModels = (models: ReadonlyArray<Model>): ReadonlyArray<Model> => {
  const known = seers.get(models) ?? models.filter(supportsImages)
  seers.set(models, known)
  return known
}

/** The best available model for a task, with tools one that takes them as far as that is known. */
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
