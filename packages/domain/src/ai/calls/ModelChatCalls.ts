import { Duration, Effect, Exit, Scope } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import type { ToolCall } from "../chat/ModelChat.ts"
import { type ModelKeys, ownableProviders } from "../keys/OwnerKeys.ts"
import type { Model, ProviderName } from "../models/Model.ts"
import { MessagesMissing, type ModelNotFound, ModelsUnavailable, type ProviderFailed } from "../models/ModelErrors.ts"
import { costUpperBound, findAnswerLimit } from "../models/ModelCost.ts"
import { type ModelProvider, ModelProviders } from "../models/ModelProviders.ts"
import { isServed } from "../models/ModelResolution.ts"
import { findModelRoutes } from "../models/ModelRoutes.ts"
import { parseTaskType, supportsImages } from "../models/ModelSelection.ts"
import { estimatePromptTokens, estimateRequestTokens } from "../prompt/TokenEstimate.ts"
import { holdsImages, type makeModelChoice, offersTools, type ReachableModels } from "../ReachableModels.ts"
import type { ChunkReader } from "../streams/ChunkReader.ts"
import { makeIdleTimeouts } from "../streams/IdleTimeout.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import { AiSettings } from "./AiSettings.ts"
import { meterAnswer, recordAbandonedCall } from "./AnswerMeter.ts"
import { callUntilAnswered } from "./CallFallback.ts"
import { planCalls, type PlannedCall } from "./CallPlan.ts"
import type { Restore } from "./CallRetry.ts"
import type { ChatCompletion, ChatOpening, ChatRequest } from "./ChatRequest.ts"
import { makeCircuitBreakers } from "./CircuitBreakers.ts"
import { ModelUsage } from "./ModelUsage.ts"
import { makeProviderActivities } from "./ProviderActivities.ts"
import { useService } from "../../shared/HotPath.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

export type ChatError = MessagesMissing | ModelNotFound | ModelsUnavailable | ProviderFailed

/** An answer whose first text has arrived. */
export interface OpenChat {
  readonly opening: ChatOpening
  /** Reads the events that have arrived; the last one is `done`. */
  readonly read: ChunkReader<ModelEvent, ProviderFailed>
}

/** The last event is `done`. */
interface BegunChat {
  readonly opening: ChatOpening
  readonly first: ReadonlyArray<ModelEvent>
  readonly more: Effect.Effect<ReadonlyArray<ModelEvent>, ProviderFailed>
  /** Whether `done` was read. */
  readonly isDone: () => boolean
  /** Ends the call and records it. */
  readonly close: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

/** Collects the complete answer. */
const gatherAll = ({ first, more, opening }: BegunChat): Effect.Effect<ChatCompletion, ProviderFailed> => {
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
          const { costUsd, finishReason, usage, usageIsEstimated } = event
          const ending = { usage, usageIsEstimated, costUsd, finishReason, text: texts.join(""), toolCalls }
          return Effect.succeed(Object.assign(ending, opening))
        }
      }
    }
    return Effect.flatMap(more, gather)
  }
  return gather(first)
}

const readEvents = ({ first, isDone, more }: BegunChat): ChunkReader<ModelEvent, ProviderFailed> => {
  let isBegun = false
  return Effect.suspend((): ChunkReader<ModelEvent, ProviderFailed> => {
    if (isBegun) return isDone() ? Effect.succeed(null) : more
    isBegun = true
    return Effect.succeed(first)
  })
}

/** Chat of the AI layer: plans the calls of a request, calls until a model answers, and meters the answer. */
export const makeModelChat = ({
  choose,
  findReachable
}: Pick<Effect.Effect.Success<typeof makeModelChoice>, "choose" | "findReachable">) =>
  Effect.gen(function* () {
    const { all: configured, withKey } = yield* ModelProviders
    const usage = yield* ModelUsage
    const ids = yield* IdGenerator
    const settings = yield* AiSettings
    const timeouts = yield* makeIdleTimeouts
    const breakers = makeCircuitBreakers(settings.breaker)
    const activities = yield* makeProviderActivities
    const providers = new Map(configured.map((provider) => [provider.name, provider] as const))
    const configuredNames = new Set(providers.keys())

    const withOwnKeys = Effect.fnUntraced(function* (plan: ReadonlyArray<PlannedCall>, keys: ModelKeys) {
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

    const limitFallbacks = (models: ReadonlyArray<Model>, request: ChatRequest) => {
      const { fallbackCostLimitUsd: limit, options } = request
      if (limit === undefined) return models
      const promptTokens = estimateRequestTokens(request)
      return models.filter(
        (model) => costUpperBound(model, promptTokens, findAnswerLimit(model, options?.maxTokens)) <= limit * 1_000_000
      )
    }

    // If the owner's keys run the model, only those are used: the platform never pays for such a call.
    const listCalls = (reachable: ReachableModels, request: ChatRequest, first: Model) => {
      const isOwn = reachable.own.size > 0 && findModelRoutes(first, reachable.own).length > 0
      if (!isOwn && request.ownKeysOnly === true) return { isOwn, calls: [] }
      const calls = planCalls({
        models: isOwn ? reachable.models : limitFallbacks(reachable.listed, request),
        configured: isOwn ? reachable.own : configuredNames,
        first,
        taskType: parseTaskType(request.taskType),
        tokens:
          estimatePromptTokens(request.messages, request.options?.tools) +
          findAnswerLimit(first, request.options?.maxTokens),
        maxCalls: settings.maxCalls,
        withTools: offersTools(request.options),
        withImages: holdsImages(request.messages)
      })
      return { isOwn, calls }
    }

    const planFor = (reachable: ReachableModels, request: ChatRequest, first: Model) =>
      Effect.suspend(() => {
        const { calls, isOwn } = listCalls(reachable, request, first)
        return isOwn ? withOwnKeys([...calls], reachable.keys) : Effect.succeed({ plan: calls, providers })
      })

    /** Returns the upper bound of the cost of an answer by the first model, and its prices. */
    const quote = Effect.fnUntraced(function* (request: ChatRequest) {
      if (request.messages.length === 0) return yield* new MessagesMissing()
      const reachable = yield* findReachable(request.caller.userId)
      const { calls, isOwn } = listCalls(reachable, request, yield* choose(reachable, request))
      const [first] = calls
      if (first === undefined) return yield* new ModelsUnavailable({ taskType: parseTaskType(request.taskType) })
      const { inputCost, outputCost } = first.model
      const promptTokens = estimateRequestTokens(request)
      const maxTokens = findAnswerLimit(first.model, request.options?.maxTokens)
      const costUsd = costUpperBound(first.model, promptTokens, maxTokens) / 1_000_000
      return {
        costUsd,
        inputCost,
        outputCost,
        promptTokens,
        maxTokens,
        ownKey: isOwn,
        answeredBy: { model: first.model.id, provider: first.provider },
        isSubstitute: request.model !== undefined && !isServed(reachable.models, request.model),
        seesImages: supportsImages(first.model)
      }
    }, withExportedSpan("AiLayer.quote"))

    const prepare = Effect.fnUntraced(function* (request: ChatRequest) {
      const clock = yield* Effect.clock
      const startedAt = clock.unsafeCurrentTimeMillis()
      if (request.messages.length === 0) return yield* new MessagesMissing()
      const reachable = yield* findReachable(request.caller.userId)
      const planned = yield* planFor(reachable, request, yield* choose(reachable, request))
      const [first] = planned.plan
      if (first === undefined) return yield* new ModelsUnavailable({ taskType: parseTaskType(request.taskType) })
      return { request, clock, startedAt, ...planned }
    })

    const begin = Effect.fnUntraced(function* (
      { clock, plan, providers: called, request, startedAt }: Effect.Effect.Success<ReturnType<typeof prepare>>,
      restore: Restore
    ): Effect.fn.Return<BegunChat, ProviderFailed> {
      const deadline = startedAt + Duration.toMillis(settings.totalTimeout)
      const answer = yield* callUntilAnswered(
        plan,
        { messages: request.messages, options: request.options ?? {}, deadline },
        {
          clock,
          settings,
          breakers,
          activities,
          timeouts,
          providers: called,
          restore,
          meter: (sent) => meterAnswer(sent, request, usage),
          recordAbandoned: (sent) => recordAbandonedCall(sent, request, usage)
        }
      )
      const opening: ChatOpening = {
        id: yield* ids.next("cpl"),
        model: answer.call.model.id,
        provider: answer.call.provider,
        ownKey: answer.call.keyId !== undefined,
        attempts: answer.attempts,
        overheadMs: answer.calledAt - startedAt
      }
      const { meter } = answer
      let isDone = false
      const complete = (event: ModelEvent<ProviderEnding>): ModelEvent => {
        meter.add(event)
        if (event.type !== "done") return event
        isDone = true
        const metered = meter.usage()
        return {
          type: "done",
          usage: metered.usage,
          usageIsEstimated: metered.usageIsEstimated,
          costUsd: metered.costUsd,
          finishReason: event.finishReason
        }
      }
      return {
        opening,
        first: answer.first.map(complete),
        more: Effect.map(answer.next, (events) => events.map(complete)),
        isDone: () => isDone,
        close: answer.close
      }
    })

    /** Calls models until one answers. No interruption between the answer and `use`, which closes it. */
    const beginThen = <A, E>(
      request: ChatRequest,
      use: (begun: BegunChat, restore: Restore) => Effect.Effect<A, E>
    ): Effect.Effect<A, E | ChatError> =>
      Effect.flatMap(prepare(request), (prepared) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(begin(prepared, restore), (begun) => use(begun, restore))
        )
      )

    return {
      quote,

      findActivity: (provider: ProviderName) =>
        Effect.map(Effect.clock, (clock) => ({
          breaker: breakers.findStatus(provider, clock.unsafeCurrentTimeMillis()),
          ...activities.find(provider)
        })),

      /**
       * Calls models until one answers. Back-pressure: events arrive no faster than they are read. Closing the scope
       * ends the call.
       */
      open: (request: ChatRequest): Effect.Effect<OpenChat, ChatError, Scope.Scope> =>
        useService(Scope.Scope, (scope) =>
          beginThen(request, (begun) =>
            Effect.as(Scope.addFinalizerExit(scope, begun.close), {
              opening: begun.opening,
              read: readEvents(begun)
            })
          )
        ).pipe(withExportedSpan("AiLayer.open")),

      /** Returns the complete answer. */
      complete: (request: ChatRequest): Effect.Effect<ChatCompletion, ChatError> =>
        beginThen(request, (begun, restore) =>
          Effect.matchCauseEffect(restore(gatherAll(begun)), {
            onFailure: (cause) => Effect.zipRight(begun.close(Exit.failCause(cause)), Effect.failCause(cause)),
            onSuccess: (completion) => Effect.as(begun.close(Exit.succeed(completion)), completion)
          })
        ).pipe(withExportedSpan("AiLayer.complete"))
    }
  })
