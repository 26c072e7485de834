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

  const logFallback = ({ asked, model }: ModelResolution) =>
    Ref.modify(logged, (ids) =>
      HashSet.has(ids, asked)
        ? [false, ids]
        : [true, HashSet.add(HashSet.size(ids) < maximumLoggedIds ? ids : HashSet.empty<string>(), asked)]
    ).pipe(
      Effect.tap((isFirst) =>
        isFirst
          ? Effect.logInfo("Unavailable model replaced").pipe(
              Effect.annotateLogs({ asked, model: model.id, provider: model.provider })
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
    asked: string
  ): Effect.Effect<ModelResolution, ModelsUnavailable> => {
    const resolved = resolveModel(models, asked, preferOwnKeyModels(models, own))
    return Either.isRight(resolved) && resolved.right.isFallback
      ? Effect.zipLeft(resolved, logFallback(resolved.right))
      : resolved
  }

  const choose = (
    reachable: ReachableModels,
    { messages, model: asked, options, taskType, unknownModel }: ChatRequest
  ): Effect.Effect<Model, ModelNotFound | ModelsUnavailable> => {
    const { models, own } = reachable
    if (asked === undefined) {
      const preferred = preferOwnKeyModels(models, own)
      return holdsImages(messages)
        ? selectModel(filterVisionModels(preferred), parseTaskType(taskType ?? "vision"), offersTools(options))
        : selectModel(preferred, parseTaskType(taskType), offersTools(options))
    }
    return unknownModel === "refuse" && Option.isNone(findModel(models, asked))
      ? Effect.fail(new ModelNotFound({ model: asked }))
      : Effect.map(resolveWithin(reachable, asked), ({ model }) => model)
  }

  return {
    findReachable,
    choose,
    /** Resolves an id to that model, or to the best general model. A null owner has no keys. */
    resolve: Effect.fn("AiLayer.resolve")(function* (asked: string, owner: UserId | null) {
      return yield* resolveWithin(yield* findReachable(owner), asked)
    })
  }
})
