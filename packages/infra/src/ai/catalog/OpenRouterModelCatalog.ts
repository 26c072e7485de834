import { ModelCatalog, type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { Model, ProviderName } from "@berth/domain/ai/models/Model"
import { Array, Clock, Deferred, Duration, Effect, Either, Layer, Match } from "effect"
import { parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import { makeOpenAiClient } from "../openai/OpenAiClient.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import { assembleCatalog, type KnownModels, providersWithOwnModels, vendorsOfSharedModels } from "./CatalogAssembly.ts"
import type { ModelFacts } from "./OpenRouterModel.ts"
import { readOpenRouterEntry } from "./OpenRouterModel.ts"
import { shippedModels } from "./ModelSnapshot.ts"

export interface OpenRouterModelCatalogOptions {
  /** OpenRouter's address; null for the shipped list only. */
  readonly openRouterUrl: string | null
  readonly freshFor?: Duration.DurationInput | undefined
  /** Minimum time from a failed load to the next one. */
  readonly retryAfter?: Duration.DurationInput | undefined
  readonly loadTimeout?: Duration.DurationInput | undefined
}

interface CatalogState extends KnownModels {
  /** The same array until the catalog changes; usable as a cache key. */
  readonly catalog: ReadonlyArray<Model>
  readonly isLive: boolean | null
  /** Epoch milliseconds. */
  readonly staleAt: number
}

/** OpenRouter's list, else the shipped one. Callers wait only for the first load; later loads run in the background. */
export const layer = (options: OpenRouterModelCatalogOptions): Layer.Layer<ModelCatalog, never, ModelProviders> =>
  Layer.scoped(
    ModelCatalog,
    Effect.gen(function* () {
      const { all: providers } = yield* ModelProviders
      const configured = new Set(providers.map(({ name }) => name))
      const scope = yield* Effect.scope
      const freshFor = Duration.decode(options.freshFor ?? "10 minutes")
      const retryAfter = Duration.decode(options.retryAfter ?? "1 minute")
      const loadTimeout = Duration.decode(options.loadTimeout ?? "3 seconds")
      const shipped: KnownModels = { facts: shippedModels, own: new Map(), vendors: new Map() }
      let state: CatalogState = {
        ...shipped,
        catalog: assembleCatalog(shipped, configured),
        isLive: null,
        staleAt: 0
      }
      const firstLoad = yield* Deferred.make<void>()
      const oneAtATime = yield* Effect.makeSemaphore(1)

      const openRouter =
        options.openRouterUrl === null
          ? null
          : makeOpenAiClient("openrouter", {
              baseUrl: options.openRouterUrl,
              apiKey: null
            })

      /** Returns the public list, or the reason for its absence. */
      const publicList: Effect.Effect<Either.Either<ReadonlyArray<ModelFacts>, string>> =
        openRouter === null
          ? Effect.succeed(Either.left("disabled"))
          : openRouter.models.pipe(
              Effect.mapError(reasonOf),
              Effect.flatMap(readEntries),
              Effect.filterOrFail(Array.isNonEmptyReadonlyArray, () => "empty list"),
              Effect.timeoutFail({ duration: loadTimeout, onTimeout: () => "timeout" }),
              Effect.either
            )

      /** Returns the lists of the providers that respond in time. */
      const listsOf = <A>(
        names: ReadonlySet<ProviderName>,
        list: (provider: ModelProvider) => Effect.Effect<ReadonlyArray<A>, ProviderFailed>
      ) =>
        Effect.forEach(
          providers.filter(({ name }) => names.has(name)),
          (provider) =>
            list(provider).pipe(
              Effect.timeoutOption(loadTimeout),
              Effect.map((models) => (models._tag === "Some" ? ([[provider.name, models.value]] as const) : [])),
              Effect.catchAll(({ kind, reason }) =>
                Effect.logDebug("Model list of provider not loaded").pipe(
                  Effect.annotateLogs({ provider: provider.name, kind, reason }),
                  Effect.as([])
                )
              )
            ),
          { concurrency: "unbounded" }
        ).pipe(Effect.map((lists) => new Map<ProviderName, ReadonlyArray<A>>(lists.flat())))

      const logSource = (wasLive: boolean | null, list: Either.Either<ReadonlyArray<unknown>, string>) => {
        const isLive = Either.isRight(list)
        if (isLive === wasLive || openRouter === null) return Effect.void
        return Either.match(list, {
          onLeft: (reason) => Effect.logInfo("Shipped model catalog in use").pipe(Effect.annotateLogs({ reason })),
          onRight: (models) =>
            Effect.logInfo("OpenRouter model catalog in use").pipe(Effect.annotateLogs({ models: models.length }))
        })
      }

      const load = Effect.gen(function* () {
        const [list, own, vendors] = yield* Effect.all(
          [
            publicList,
            listsOf(providersWithOwnModels, ({ models }) => models),
            listsOf(vendorsOfSharedModels, ({ modelIds }) => modelIds)
          ],
          { concurrency: "unbounded" }
        )
        const now = yield* Clock.currentTimeMillis
        const known = state
        const models: KnownModels = {
          // An old list is preferred to the shipped one.
          facts: Either.match(list, {
            onLeft: () => known.facts,
            onRight: (facts) => [...facts, ...shippedGroqModels]
          }),
          own: new Map([...known.own, ...own]),
          vendors: new Map([...known.vendors, ...vendors])
        }
        state = {
          ...models,
          catalog: assembleCatalog(models, configured),
          isLive: Either.isRight(list),
          staleAt: now + Duration.toMillis(Either.isRight(list) || openRouter === null ? freshFor : retryAfter)
        }
        yield* logSource(known.isLive, list)
      }).pipe(Effect.withSpan("ModelCatalog.load", { root: true }))

      yield* Effect.forkIn(Effect.ensuring(load, Deferred.succeed(firstLoad, undefined)), scope)

      const isStale = Effect.map(Clock.currentTimeMillis, (now) => now >= state.staleAt)
      // Checked again inside the semaphore, since another load may have just ended.
      const reload = oneAtATime.withPermitsIfAvailable(1)(Effect.whenEffect(load, isStale))

      // Hot path: two operations while the list is fresh.
      const current: ModelCatalog["Type"]["all"] = Effect.clockWith((clock) =>
        clock.unsafeCurrentTimeMillis() < state.staleAt
          ? Effect.succeed(state.catalog)
          : Effect.map(Effect.zipRight(Deferred.await(firstLoad), Effect.forkIn(reload, scope)), () => state.catalog)
      )
      return ModelCatalog.of({ all: current })
    })
  )

const maximumLoggedIds = 5

/** Reads the models in a list. Omits malformed entries, with one warning for all. */
const readEntries = (entries: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<ModelFacts>> => {
  const readings = entries.map(readOpenRouterEntry)
  const malformed = readings.flatMap((reading) => (reading.type === "malformed" ? [reading.id] : []))
  const models = readings.flatMap((reading) => (reading.type === "model" ? [reading.facts] : []))
  return malformed.length === 0
    ? Effect.succeed(models)
    : Effect.as(
        Effect.logWarning("Malformed model list entries omitted").pipe(
          Effect.annotateLogs({ entries: malformed.length, some: malformed.slice(0, maximumLoggedIds).join(", ") })
        ),
        models
      )
}

// OpenRouter's list lacks Groq's models; used until Groq's list is loaded.
const shippedGroqModels = shippedModels.filter(({ id }) => parseModelVendor(id) === "groq")

const reasonOf = (failure: VendorFailure): string =>
  Match.valueTags(failure, {
    VendorConnectionFailed: ({ reason }) => reason,
    VendorAnswerMalformed: ({ reason }) => reason,
    VendorRequestRejected: ({ status }) => `answered ${status ?? "with an error"}`
  })
