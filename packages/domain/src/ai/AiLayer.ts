import { Chunk, Clock, Duration, Effect, Fiber, HashSet, Option, Ref, type Scope, Stream } from "effect"
import type { ModelEvent, ProviderEnding } from "./streams/ModelEvent.ts"
import { ModelCatalog, type ModelProvider, ModelProviders } from "./models/ModelProviders.ts"
import type { ProviderFailed } from "./models/ModelErrors.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { CurrentAiSettings } from "./calls/AiSettings.ts"
import { meterAnswer } from "./calls/AnswerMeter.ts"
import { hasImage } from "./chat/ContentPart.ts"
import type { ChatCompletion, ChatOpening, ChatRequest } from "./calls/ChatRequest.ts"
import { makeCircuitBreakers } from "./calls/CircuitBreakers.ts"
import { estimateCost, type TokenCounts } from "./models/ModelCost.ts"
import { estimatePromptTokens } from "./prompt/TokenEstimate.ts"
import { type Model, ProviderName } from "./models/Model.ts"
import { findModelRoutes } from "./models/ModelRoutes.ts"
import { callUntilAnswered } from "./calls/CallFallback.ts"
import { type ToolCall } from "./chat/ModelChat.ts"
import {
  AiServiceUnavailable,
  MessagesMissing,
  ModelNotFound,
  ModelsUnavailable,
  ProviderNotFound
} from "./models/ModelErrors.ts"
import { ModelUsage } from "./calls/ModelUsage.ts"
import { applyOwnKeys, preferOwnKeyModels } from "./keys/OwnKeyModels.ts"
import { type ModelKeys, ownableProviders, OwnerKeys } from "./keys/OwnerKeys.ts"
import { makeTimeoutWatcher } from "./streams/IdleTimeout.ts"
import { planCallsLazily, type PlannedCall } from "./calls/CallPlan.ts"
import { findModel, type ModelResolution, resolveModel } from "./models/ModelResolution.ts"
import { withExportedSpan } from "./calls/SpanExport.ts"
import { filterVisionModels, selectModel, parseTaskType } from "./models/ModelSelection.ts"
import type { UserId } from "../shared/UserId.ts"

/** Which of the configured providers can be reached. */
export type ProviderHealth = { readonly [name in ProviderName]?: boolean }

export interface AiHealth {
  readonly status: "healthy" | "degraded"
  readonly providers: ProviderHealth
}

/** An answer whose first text is there. */
export interface OpenChat {
  readonly opening: ChatOpening
  readonly events: Stream.Stream<ModelEvent, ProviderFailed>
}

/** The same, as it is asked for chunk by chunk; the last event is `done`. */
interface BegunChat {
  readonly opening: ChatOpening
  readonly first: ReadonlyArray<ModelEvent>
  readonly more: Effect.Effect<ReadonlyArray<ModelEvent>, ProviderFailed>
}

/** The events of an answer as a stream, up to `done`. */
const eventsOf = ({ first, more }: BegunChat): Stream.Stream<ModelEvent, ProviderFailed> =>
  Stream.fromPull(
    Effect.sync(() => {
      let last: ReadonlyArray<ModelEvent> | null = null
      const keep = (events: ReadonlyArray<ModelEvent>) => {
        last = events
        return Chunk.unsafeFromArray(events)
      }
      const further = Effect.mapBoth(more, { onFailure: Option.some, onSuccess: keep })
      return Effect.suspend((): Effect.Effect<Chunk.Chunk<ModelEvent>, Option.Option<ProviderFailed>> => {
        if (last === null) return Effect.succeed(keep(first))
        return last.some(({ type }) => type === "done") ? Effect.fail(Option.none()) : further
      })
    })
  )

export type ChatError = MessagesMissing | ModelNotFound | ModelsUnavailable | ProviderFailed

// Room for an answer whose length nobody limited.
const usualAnswer = 1_000
const noProviders: ReadonlySet<ProviderName> = new Set()

const offersTools = (options: ChatRequest["options"]) => (options?.tools?.length ?? 0) > 0

const holdsImages = (messages: ChatRequest["messages"]) =>
  messages.some((message) => message.role === "user" && message.parts !== undefined && hasImage(message.parts))

// Ids that were told of once are kept so many; they come from outside.
const toldAtMost = 1_000

const aliases: ReadonlyMap<string, ProviderName> = new Map([["gemini", "google"]])

/** What somebody can be answered with. */
interface Reach {
  /** The platform's catalogue, and the same with what his own keys make available. */
  readonly listed: ReadonlyArray<Model>
  readonly models: ReadonlyArray<Model>
  readonly keys: ModelKeys
  readonly own: ReadonlySet<ProviderName>
}

const isProviderName = (name: string): name is ProviderName => ProviderName.literals.some((known) => known === name)

/** Models, whoever runs them: what there is, which is best, what it costs, and an answer from the one that works. */
export class AiLayer extends Effect.Service<AiLayer>()("@berth/AiLayer", {
  scoped: Effect.gen(function* () {
    const { all: configured, withKey } = yield* ModelProviders
    const ownerKeys = yield* OwnerKeys
    const catalogue = yield* ModelCatalog
    const usage = yield* ModelUsage
    const ids = yield* IdGenerator
    const settings = yield* CurrentAiSettings
    const scope = yield* Effect.scope
    const watch = yield* makeTimeoutWatcher
    const breakers = yield* makeCircuitBreakers(settings.breaker)
    const providers = new Map(configured.map((provider) => [provider.name, provider] as const))
    const configuredNames = new Set(providers.keys())
    const told = yield* Ref.make(HashSet.empty<string>())

    const checkHealth = Effect.forEach(
      configured,
      (provider) =>
        provider.healthy.pipe(
          Effect.timeoutTo({
            duration: settings.healthTimeout,
            onSuccess: (healthy) => healthy,
            onTimeout: () => false
          }),
          Effect.map((healthy) => [provider.name, healthy] as const)
        ),
      { concurrency: "unbounded" }
    ).pipe(
      Effect.map((answers): ProviderHealth => Object.fromEntries(answers)),
      Effect.withSpan("AiLayer.checkHealth")
    )
    const sharedHealth = yield* Effect.cachedWithTTL(checkHealth, settings.healthTtl)
    // In a fiber of the layer's own, so that whoever asked first may leave without taking the answer from the others.
    const providerHealth = Effect.flatMap(Effect.forkIn(sharedHealth, scope), Fiber.join)

    const tellOfFallback = ({ asked, model }: ModelResolution) =>
      Ref.modify(told, (ids) =>
        HashSet.has(ids, asked)
          ? [false, ids]
          : [true, HashSet.add(HashSet.size(ids) < toldAtMost ? ids : HashSet.empty<string>(), asked)]
      ).pipe(
        Effect.tap((isNews) =>
          isNews
            ? Effect.logInfo("A model that is not available is answered for by another").pipe(
                Effect.annotateLogs({ asked, model: model.id, provider: model.provider })
              )
            : Effect.void
        )
      )

    const reachOf = (owner: UserId | null): Effect.Effect<Reach> =>
      Effect.flatMap(catalogue.all, (listed) =>
        owner === null
          ? Effect.succeed({ listed, models: listed, keys: {}, own: noProviders })
          : reachWithKeys(listed, owner)
      )

    const reachWithKeys = (listed: ReadonlyArray<Model>, owner: UserId) =>
      Effect.gen(function* () {
        const keys = yield* ownerKeys.find(owner)
        const own = new Set(ownableProviders.filter((name) => keys[name] !== undefined))
        return { listed, models: applyOwnKeys(listed, own), keys, own }
      })

    const resolveWithin = ({ models, own }: Reach, asked: string) =>
      Effect.tap(resolveModel(models, asked, preferOwnKeyModels(models, own)), (resolution) =>
        resolution.isFallback ? tellOfFallback(resolution) : Effect.void
      )

    /**
     * The model that answers an owner for an id: that one, or the best general one, which a log line says once for each
     * id. Null stands for whoever has no keys of his own.
     */
    const resolve = Effect.fn("AiLayer.resolve")(function* (asked: string, owner: UserId | null) {
      return yield* resolveWithin(yield* reachOf(owner), asked)
    })

    const choose = (reach: Reach, request: ChatRequest): Effect.Effect<Model, ModelNotFound | ModelsUnavailable> => {
      const { messages, model: asked, options, taskType } = request
      const { models, own } = reach
      if (asked === undefined) {
        const able = preferOwnKeyModels(models, own)
        return holdsImages(messages)
          ? selectModel(filterVisionModels(able), parseTaskType(taskType ?? "vision"), offersTools(options))
          : selectModel(able, parseTaskType(taskType), offersTools(options))
      }
      return request.unknownModel === "refuse" && Option.isNone(findModel(models, asked))
        ? Effect.fail(new ModelNotFound({ model: asked }))
        : Effect.map(resolveWithin(reach, asked), ({ model }) => model)
    }

    /**
     * Whom to call for a model. Where the owner's own keys run it nobody else's are used, so that the platform never pays
     * for what he meant to pay himself.
     */
    const planFor = (reach: Reach, request: ChatRequest, first: Model) =>
      Effect.suspend(() => {
        const isOwn = reach.own.size > 0 && findModelRoutes(first, reach.own).length > 0
        if (!isOwn && request.ownKeysOnly === true) return Effect.succeed({ plan: [], providers })
        const plan = planCallsLazily({
          models: isOwn ? reach.models : reach.listed,
          configured: isOwn ? reach.own : configuredNames,
          first,
          taskType: parseTaskType(request.taskType),
          tokens:
            estimatePromptTokens(request.messages, request.options?.tools) +
            (request.options?.maxTokens ?? usualAnswer),
          maxCalls: settings.maxCalls,
          withTools: offersTools(request.options),
          withImages: holdsImages(request.messages)
        })
        return isOwn ? withOwnKeys([...plan], reach.keys) : Effect.succeed({ plan, providers })
      })

    const withOwnKeys = (plan: ReadonlyArray<PlannedCall>, keys: ModelKeys) =>
      Effect.gen(function* () {
        const keyIds = new Map<ProviderName, string>()
        const own = new Map<ProviderName, ModelProvider>()
        for (const name of ownableProviders) {
          const key = keys[name]
          if (key === undefined || plan.every(({ provider }) => provider !== name)) continue
          const { keyId, provider } = yield* withKey(name, key)
          keyIds.set(name, keyId)
          own.set(name, provider)
        }
        return {
          plan: plan.map((call): PlannedCall => ({ ...call, keyId: keyIds.get(call.provider) })),
          providers: own
        }
      })

    /** Finds a model that answers and waits for its first text; until then another takes over from one that fails. */
    const begin = Effect.fnUntraced(function* (
      request: ChatRequest
    ): Effect.fn.Return<BegunChat, ChatError, Scope.Scope> {
      const startedAt = yield* Clock.currentTimeMillis
      if (request.messages.length === 0) return yield* new MessagesMissing()
      const reach = yield* reachOf(request.caller.userId)
      const { plan, providers: called } = yield* planFor(reach, request, yield* choose(reach, request))
      const [first] = plan
      if (first === undefined) return yield* new ModelsUnavailable({ taskType: parseTaskType(request.taskType) })
      const deadline = startedAt + Duration.toMillis(settings.totalTimeout)
      const answer = yield* callUntilAnswered(
        plan,
        { messages: request.messages, options: request.options ?? {}, deadline },
        { settings, breakers, watch, providers: called }
      )
      const opening: ChatOpening = {
        id: yield* ids.next("cpl"),
        model: answer.call.model.id,
        provider: answer.call.provider,
        ownKey: answer.call.keyId !== undefined,
        attempts: answer.attempts,
        overheadMs: answer.calledAt - startedAt
      }
      const meter = yield* meterAnswer(answer, request, usage)
      const toEvent = (chunk: ModelEvent<ProviderEnding>): ModelEvent => {
        meter.add(chunk)
        return chunk.type === "done"
          ? { type: "done", ...opening, ...meter.usage(), finishReason: chunk.finishReason }
          : chunk
      }
      return {
        opening,
        first: answer.first.map(toEvent),
        more: Effect.map(answer.more, (chunks) => chunks.map(toEvent))
      }
    })

    /**
     * Finds a model that answers. The answer is taken from `events`, as fast as it is read; closing the scope ends the
     * call.
     */
    const open = (request: ChatRequest): Effect.Effect<OpenChat, ChatError, Scope.Scope> =>
      Effect.map(begin(request), (begun) => ({ opening: begun.opening, events: eventsOf(begun) })).pipe(
        withExportedSpan("AiLayer.open")
      )

    /** The whole answer at once. */
    const complete = (request: ChatRequest): Effect.Effect<ChatCompletion, ChatError> =>
      Effect.flatMap(begin(request), ({ first, more }) => {
        const texts: Array<string> = []
        const toolCalls: Array<ToolCall> = []
        const gather = (events: ReadonlyArray<ModelEvent>): Effect.Effect<ChatCompletion, ProviderFailed> => {
          for (const event of events) {
            switch (event.type) {
              case "delta":
                texts.push(event.text)
                break
              case "tool-call":
                toolCalls.push(event.call)
                break
              case "done": {
                const { type: _, ...answer } = event
                return Effect.succeed({ ...answer, text: texts.join(""), toolCalls })
              }
            }
          }
          return Effect.flatMap(more, gather)
        }
        return gather(first)
      }).pipe(Effect.scoped, withExportedSpan("AiLayer.complete"))

    return {
      /** What the configured providers say of themselves, at most `healthAge` old. */
      health: Effect.fn("AiLayer.health")(function* (): Effect.fn.Return<AiHealth, AiServiceUnavailable> {
        const health = yield* providerHealth
        const answers = Object.values(health)
        if (!answers.includes(true)) return yield* new AiServiceUnavailable({ providers: health })
        return { status: answers.includes(false) ? "degraded" : "healthy", providers: health }
      }),

      /** Every model, and how many there are of each provider that is configured or has some. */
      models: Effect.fn("AiLayer.models")(function* () {
        const models = yield* catalogue.all
        const providers: { [name in ProviderName]?: number } = {}
        for (const name of configuredNames) providers[name] = 0
        for (const { provider } of models) providers[provider] = (providers[provider] ?? 0) + 1
        return { models, providers }
      }),

      /** Those of one provider, by its name or another that it goes by. */
      modelsOf: Effect.fn("AiLayer.modelsOf")(function* (asked: string) {
        const provider = aliases.get(asked) ?? asked
        if (!isProviderName(provider)) return yield* new ProviderNotFound({ provider: asked })
        const models = yield* catalogue.all
        return { provider, models: models.filter((model) => model.provider === provider) }
      }),

      /** The best available model for a task. */
      select: Effect.fn("AiLayer.select")(function* (asked: string | null | undefined) {
        const taskType = parseTaskType(asked)
        return { taskType, model: yield* selectModel(yield* catalogue.all, taskType) }
      }),

      /** The available model that an id names. */
      find: Effect.fn("AiLayer.find")(function* (asked: string) {
        const found = Option.filter(findModel(yield* catalogue.all, asked), ({ available }) => available)
        return yield* Effect.mapError(found, () => new ModelNotFound({ model: asked }))
      }),

      /** What a call of a model costs in US dollars. */
      estimate: Effect.fn("AiLayer.estimate")(function* (request: TokenCounts & { readonly model: string }) {
        const found = findModel(yield* catalogue.all, request.model)
        if (Option.isNone(found)) return yield* new ModelNotFound({ model: request.model })
        const costUsd = yield* estimateCost(found.value, request)
        return { model: found.value, costUsd }
      }),

      resolve,
      open,
      complete
    }
  })
}) {}
