import { ModelCatalog, type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { Model, ProviderName } from "@berth/domain/ai/models/Model"
import { FetchHttpClient } from "@effect/platform"
import { Array, Clock, Deferred, Duration, Effect, Either, Layer, Match, Ref } from "effect"
import { parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import { makeOpenAiClient } from "../openai/OpenAiClient.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import { assembleCatalog, type KnownModels, providersWithOwnModels, vendorsOfSharedModels } from "./CatalogAssembly.ts"
import type { ModelFacts } from "./OpenRouterModel.ts"
import { readOpenRouterEntry } from "./OpenRouterModel.ts"
import { shippedModels } from "./ModelSnapshot.ts"

export interface OpenRouterModelCatalogOptions {
  /** OpenRouter's address, whose list of models is public; null to live on the shipped list. */
  readonly openRouterUrl: string | null
  /** How long a list counts as fresh. */
  readonly freshFor?: Duration.DurationInput | undefined
  /** How long to leave a list alone that could not be loaded. */
  readonly retryAfter?: Duration.DurationInput | undefined
  /** How long loading may take. */
  readonly loadTimeout?: Duration.DurationInput | undefined
}

interface CatalogState extends KnownModels {
  /** What is known, as one array until that changes: whoever works something out for it can keep that with it. */
  readonly catalog: ReadonlyArray<Model>
  readonly isLive: boolean | null
  /** Epoch milliseconds from which on it is worth loading again. */
  readonly staleAt: number
}

/**
 * The catalogue from OpenRouter's list, from the shipped one until and unless that is there. Loading starts with the
 * layer; whoever asks while it first runs waits for it, for `patience` at most, and nobody ever waits after that: a
 * stale list is answered and renewed behind it.
 */
export const layer = (options: OpenRouterModelCatalogOptions): Layer.Layer<ModelCatalog, never, ModelProviders> =>
  Layer.scoped(
    ModelCatalog,
    Effect.gen(function* () {
      const { all: providers } = yield* ModelProviders
      const configured = new Set(providers.map(({ name }) => name))
      const scope = yield* Effect.scope
      const freshFor = Duration.decode(options.freshFor ?? "10 minutes")
      const retryAfter = Duration.decode(options.retryAfter ?? "1 minute")
      const patience = Duration.decode(options.loadTimeout ?? "3 seconds")
      const shipped: KnownModels = { facts: shippedModels, own: new Map(), vendors: new Map() }
      const state = yield* Ref.make<CatalogState>({
        ...shipped,
        catalog: assembleCatalog(shipped, configured),
        isLive: null,
        staleAt: 0
      })
      const firstLoad = yield* Deferred.make<void>()
      const oneAtATime = yield* Effect.makeSemaphore(1)

      const openRouter =
        options.openRouterUrl === null
          ? null
          : yield* makeOpenAiClient({ baseUrl: options.openRouterUrl, apiKey: null })

      /** The public list, or why it is not there. */
      const publicList: Effect.Effect<Either.Either<ReadonlyArray<ModelFacts>, string>> =
        openRouter === null
          ? Effect.succeed(Either.left("it is not asked"))
          : openRouter.models.pipe(
              Effect.mapError(reasonOf),
              Effect.flatMap(readEntries),
              Effect.filterOrFail(Array.isNonEmptyReadonlyArray, () => "it lists nothing"),
              Effect.timeoutFail({ duration: patience, onTimeout: () => "it takes too long" }),
              Effect.either
            )

      /** What those of the configured providers say of themselves that do in time. */
      const listsOf = <A>(
        names: ReadonlySet<ProviderName>,
        list: (provider: ModelProvider) => Effect.Effect<ReadonlyArray<A>, ProviderFailed>
      ) =>
        Effect.forEach(
          providers.filter(({ name }) => names.has(name)),
          (provider) =>
            list(provider).pipe(
              Effect.timeoutOption(patience),
              Effect.map((models) => (models._tag === "Some" ? ([[provider.name, models.value]] as const) : [])),
              Effect.catchAll(({ kind, reason }) =>
                Effect.logDebug("A provider did not list its models").pipe(
                  Effect.annotateLogs({ provider: provider.name, kind, reason }),
                  Effect.as([])
                )
              )
            ),
          { concurrency: "unbounded" }
        ).pipe(Effect.map((lists) => new Map<ProviderName, ReadonlyArray<A>>(lists.flat())))

      const tell = (wasLive: boolean | null, list: Either.Either<ReadonlyArray<unknown>, string>) => {
        const isLive = Either.isRight(list)
        if (isLive === wasLive || openRouter === null) return Effect.void
        return Either.match(list, {
          onLeft: (reason) =>
            Effect.logInfo("The model catalogue is the shipped one: OpenRouter's list cannot be had").pipe(
              Effect.annotateLogs({ reason })
            ),
          onRight: (models) =>
            Effect.logInfo("The model catalogue is OpenRouter's list").pipe(
              Effect.annotateLogs({ models: models.length })
            )
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
        const before = yield* Ref.getAndUpdate(state, (known) => {
          const models: KnownModels = {
            // A list that was there once is better than the shipped one, old as it is.
            facts: Either.match(list, {
              onLeft: () => known.facts,
              onRight: (facts) => [...facts, ...shippedGroqModels]
            }),
            own: new Map([...known.own, ...own]),
            vendors: new Map([...known.vendors, ...vendors])
          }
          return {
            ...models,
            catalog: assembleCatalog(models, configured),
            isLive: Either.isRight(list),
            staleAt: now + Duration.toMillis(Either.isRight(list) || openRouter === null ? freshFor : retryAfter)
          }
        })
        yield* tell(before.isLive, list)
      }).pipe(Effect.withSpan("ModelCatalog.load"))

      yield* Effect.forkIn(Effect.ensuring(load, Deferred.succeed(firstLoad, undefined)), scope)

      const isStale = Effect.zipWith(Clock.currentTimeMillis, Ref.get(state), (now, { staleAt }) => now >= staleAt)
      // Stale is looked at again inside: one may come here just after the load that others waited for.
      const reload = oneAtATime.withPermitsIfAvailable(1)(Effect.whenEffect(load, isStale))
      const renew = Effect.flatMap(isStale, (stale) => (stale ? Effect.forkIn(reload, scope) : Effect.void))

      return ModelCatalog.of({
        all: Deferred.await(firstLoad).pipe(
          Effect.zipRight(renew),
          Effect.zipRight(Ref.get(state)),
          Effect.map(({ catalog }) => catalog)
        )
      })
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))

// So many ids of entries that cannot be read stand in the log.
const maximumLoggedIds = 5

/** The models in a list. What cannot be read is left out, which one line says of all of it. */
const readEntries = (entries: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<ModelFacts>> => {
  const readings = entries.map(readOpenRouterEntry)
  const malformed = readings.flatMap((reading) => (reading.type === "malformed" ? [reading.id] : []))
  const models = readings.flatMap((reading) => (reading.type === "model" ? [reading.facts] : []))
  return malformed.length === 0
    ? Effect.succeed(models)
    : Effect.as(
        Effect.logWarning("Entries of OpenRouter's list cannot be read and are left out").pipe(
          Effect.annotateLogs({ entries: malformed.length, some: malformed.slice(0, maximumLoggedIds).join(", ") })
        ),
        models
      )
}

// OpenRouter does not list what Groq runs itself; this stands until Groq has said so.
const shippedGroqModels = shippedModels.filter(({ id }) => parseModelVendor(id) === "groq")

const reasonOf = (failure: VendorFailure): string =>
  Match.valueTags(failure, {
    VendorConnectionFailed: ({ reason }) => reason,
    VendorAnswerMalformed: ({ reason }) => reason,
    VendorRequestRejected: ({ status }) => `answered ${status ?? "with an error"}`
  })
