import { Effect, Either, HashSet, Option, Ref } from "effect"
import type { UserId } from "../shared/UserId.ts"
import type { ChatRequest } from "./calls/ChatRequest.ts"
import { hasImage } from "./chat/ContentPart.ts"
import { applyOwnKeys, preferOwnKeyModels } from "./keys/OwnKeyModels.ts"
import { type ModelKeys, ownableProviders, OwnerKeys } from "./keys/OwnerKeys.ts"
import type { Model, ProviderName } from "./models/Model.ts"
import { ModelNotFound, type ModelsUnavailable } from "./models/ModelErrors.ts"
import { ModelCatalog } from "./models/ModelProviders.ts"
import { findModel, type ModelResolution, resolveModel } from "./models/ModelResolution.ts"
import { filterVisionModels, parseTaskType, selectModel } from "./models/ModelSelection.ts"

export interface ReachableModels {
  /** The catalog. */
  readonly listed: ReadonlyArray<Model>
  /** The catalog with the models that the owner's keys run. */
  readonly models: ReadonlyArray<Model>
  readonly keys: ModelKeys
  readonly own: ReadonlySet<ProviderName>
}

const noProviders: ReadonlySet<ProviderName> = new Set()

// Bounds memory, since callers choose the ids.
const maximumLoggedIds = 1_000

export const offersTools = (options: ChatRequest["options"]) => (options?.tools?.length ?? 0) > 0

export const holdsImages = (messages: ChatRequest["messages"]) =>
  messages.some((message) => message.role === "user" && message.parts !== undefined && hasImage(message.parts))

export const makeModelChoice = Effect.gen(function* () {
  const catalog = yield* ModelCatalog
  const ownerKeys = yield* OwnerKeys
  const logged = yield* Ref.make(HashSet.empty<string>())

  const logFallback = ({ requested, model }: ModelResolution) =>
    Ref.modify(logged, (ids) =>
      HashSet.has(ids, requested)
        ? [false, ids]
        : [true, HashSet.add(HashSet.size(ids) < maximumLoggedIds ? ids : HashSet.empty<string>(), requested)]
    ).pipe(
      Effect.tap((isFirst) =>
        isFirst
          ? Effect.logInfo("Unavailable model replaced").pipe(
              Effect.annotateLogs({ requested, model: model.id, provider: model.provider })
            )
          : Effect.void
      )
    )

  const reachWithKeys = (listed: ReadonlyArray<Model>, owner: UserId) =>
    Effect.map(ownerKeys.find(owner), (keys) => {
      const own = new Set(ownableProviders.filter((name) => keys[name] !== undefined))
      return { listed, models: applyOwnKeys(listed, own), keys, own }
    })

  const findReachable = (owner: UserId | null): Effect.Effect<ReachableModels> =>
    Effect.flatMap(catalog.all, (listed) =>
      owner === null
        ? Effect.succeed({ listed, models: listed, keys: {}, own: noProviders })
        : reachWithKeys(listed, owner)
    )

  const resolveWithin = (
    { models, own }: ReachableModels,
    requested: string
  ): Effect.Effect<ModelResolution, ModelsUnavailable> => {
    const resolved = resolveModel(models, requested, preferOwnKeyModels(models, own))
    return Either.isRight(resolved) && resolved.right.isFallback
      ? Effect.zipLeft(resolved, logFallback(resolved.right))
      : resolved
  }

  const choose = (
    reachable: ReachableModels,
    { messages, model: requested, options, taskType, unknownModel }: ChatRequest
  ): Effect.Effect<Model, ModelNotFound | ModelsUnavailable> => {
    const { models, own } = reachable
    if (requested === undefined) {
      const preferred = preferOwnKeyModels(models, own)
      return holdsImages(messages)
        ? selectModel(filterVisionModels(preferred), parseTaskType(taskType ?? "vision"), offersTools(options))
        : selectModel(preferred, parseTaskType(taskType), offersTools(options))
    }
    return unknownModel === "refuse" && Option.isNone(findModel(models, requested))
      ? Effect.fail(new ModelNotFound({ model: requested }))
      : Effect.map(resolveWithin(reachable, requested), ({ model }) => model)
  }

  return {
    findReachable,
    choose,
    /** Resolves an id to that model, or to the best general model. A null owner has no keys. */
    resolve: Effect.fn("AiLayer.resolve")(function* (requested: string, owner: UserId | null) {
      return yield* resolveWithin(yield* findReachable(owner), requested)
    })
  }
})
