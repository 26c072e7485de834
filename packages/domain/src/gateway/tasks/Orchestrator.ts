import { type Chunk, Clock, Data, DateTime, Duration, Effect, Option, Ref, Stream } from "effect"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import { nameProvider } from "../../ai/calls/ModelTelemetry.ts"
import type { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import { parseModelName } from "../../ai/models/ModelRoutes.ts"
import type { ToolSpec } from "../../ai/chat/ModelChat.ts"
import { streamFromReader } from "../../ai/streams/ChunkReader.ts"
import { makeChunkSource, streamFromOpened } from "../../ai/streams/ChunkSource.ts"
import type { ModelDelta, ModelEvent } from "../../ai/streams/ModelEvent.ts"
import type { Prompt } from "../../ai/prompt/PromptFitting.ts"
import { makeCalculatorTool } from "../../skills/calculator/CalculatorTool.ts"
import { currentTimeTool } from "../../skills/time/CurrentTimeTool.ts"
import { formatTimeText, parseZoneOrUtc } from "../../skills/time/TimeText.ts"
import * as Tool from "../../skills/tools/Tool.ts"
import { answerInRounds } from "../../skills/tools/ToolRounds.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { boundCall, computeCallUnits, TurnSettings, unusedTurn } from "../../interaction/turns/TurnPricing.ts"
import { toUsdMicros, Units } from "../../shared/Money.ts"
import { ModelAnswers, type ModelQuote } from "../plugins/ModelAnswers.ts"
import { PluginFailed, type PluginInputInvalid, type PluginResult } from "../plugins/PluginRun.ts"
import type { TaskFunding } from "./AgentTasks.ts"
import type { TaskText } from "./TaskText.ts"
import { annotateSpan } from "../../shared/SpanExport.ts"
import type { UserId } from "../../shared/UserId.ts"

export const orchestratorLimits = {
  /** Time after which no tool is offered, so that the answer arrives before the task's deadline. */
  toolsFor: Duration.seconds(60),
  /** Cost of platform calls, in US dollars, after which no tool is offered. */
  toolsUpToUsd: 0.02,
  /** Maximum tokens of a model call with its answer, and of the answer. */
  window: 16_000,
  answerTokens: 2_048,
  /** Maximum calls of the calculator, which runs in the process of all requests. */
  calculations: 24,
  expression: { characters: 200, functions: 4 }
}

/** The funding covers no further model call. Internal. */
class TaskFundsExhausted extends Data.TaggedError("TaskFundsExhausted")<object> {}

const self = { timezone: "UTC" }
type Self = typeof self

/** Tools that require no owner: they store nothing and call no other service. */
const toolsOfRun = Effect.map(Ref.make(orchestratorLimits.calculations), (left): ReadonlyArray<Tool.Tool<Self>> => {
  const calculate = makeCalculatorTool(orchestratorLimits.expression)
  return [
    currentTimeTool,
    {
      ...calculate,
      run: (text, caller) =>
        Effect.flatMap(
          Ref.getAndUpdate(left, (count) => count - 1),
          (count) =>
            count > 0
              ? calculate.run(text, caller)
              : new Tool.ToolFailed({ reason: "You have calculated as often as one task allows." })
        )
    }
  ]
})

const taskType = "fast"

const instructions = (context: string, now: DateTime.Utc) =>
  [
    "You are an agent that does tasks of several steps for callers of the Berth gateway.",
    "Work step by step. Use your tools wherever they make an answer surer, and never make up what a tool can tell. Nobody can answer questions on the way, so say what you assume, and end with the whole result.",
    // Minutes without seconds, so that equal questions hit the provider's prompt cache.
    `It is ${formatTimeText(now, parseZoneOrUtc(self.timezone))}.`,
    ...(context === "" ? [] : [`Context from the caller:\n${context}`])
  ].join("\n\n")

const promptOf = ({ context, history, task }: TaskText, now: DateTime.Utc): Prompt => ({
  system: { role: "system", content: instructions(context, now) },
  history,
  message: { role: "user", content: task },
  rounds: []
})

const outOfFunds = new PluginFailed({ reason: "The units of this call cover no further model call." })

/** The platform's agent for callers without an agent: a model with tools that require no owner. */
export class Orchestrator extends Effect.Service<Orchestrator>()("@berth/Orchestrator", {
  effect: Effect.gen(function* () {
    const models = yield* ModelAnswers
    const ledger = yield* UnitLedger
    const settings = yield* TurnSettings

    /** Extends the funding to the call's upper bound as far as possible. Returns the limit of the answer. */
    const admit = Effect.fnUntraced(function* ({ reservation, unitLimit, spentUsd }: TaskFunding, quote: ModelQuote) {
      if (quote.ownKey) return quote.maxTokens
      const usage = { ...unusedTurn, costMicros: toUsdMicros(yield* Ref.get(spentUsd)) }
      const needed = computeCallUnits(settings, usage, quote)
      const units = yield* Option.match(reservation, {
        onNone: () => Effect.succeed(Units(Math.min(needed, unitLimit ?? needed))),
        onSome: (id) => ledger.extend(id, needed)
      })
      const { maxTokens } = yield* Effect.mapError(
        boundCall(settings, usage, quote, units),
        () => new TaskFundsExhausted()
      )
      return maxTokens
    })

    /** Runs a task with the caller's own keys if any, else with the platform's keys. */
    const run = (
      task: TaskText,
      userId: UserId | null,
      funding: TaskFunding
    ): Stream.Stream<ModelDelta | PluginResult, PluginFailed | PluginInputInvalid> =>
      Stream.unwrap(
        Effect.gen(function* () {
          const tools = yield* toolsOfRun
          const began = yield* Clock.currentTimeMillis
          const texts: Array<string> = []
          let allByOwnKey = true
          let answeredBy: AnsweringModel | undefined
          const canContinue = Effect.map(
            Effect.all([Clock.currentTimeMillis, Ref.get(funding.spentUsd)]),
            ([now, spentUsd]) =>
              now - began < Duration.toMillis(orchestratorLimits.toolsFor) && spentUsd < orchestratorLimits.toolsUpToUsd
          )
          const countCost =
            ({ model, ownKey, provider }: ChatOpening) =>
            (events: Chunk.Chunk<ModelEvent>) => {
              let costUsd = 0
              for (const event of events) {
                if (event.type === "delta") answeredBy = { model, provider }
                if (event.type !== "done") continue
                allByOwnKey = allByOwnKey && ownKey
                if (!ownKey) costUsd += event.costUsd
              }
              return Effect.as(
                costUsd === 0 ? Effect.void : Ref.update(funding.spentUsd, (spent) => spent + costUsd),
                events
              )
            }
          const callModel = Effect.fnUntraced(function* (
            messages: ChatRequest["messages"],
            specs: ReadonlyArray<ToolSpec>
          ) {
            const request: ChatRequest = {
              messages,
              taskType,
              options: { tools: specs, maxTokens: orchestratorLimits.answerTokens },
              caller: { userId, agentId: null },
              ownKeysOnly: funding.ownKeysOnly
            }
            const quote = yield* models.quote(request)
            yield* annotateSpan({
              "gen_ai.provider.name": nameProvider(quote.answeredBy.provider),
              "gen_ai.request.model": parseModelName(quote.answeredBy.model)
            })
            const maxTokens = yield* admit(funding, quote)
            const { events, opening } = yield* models.open({
              ...request,
              options: { ...request.options, maxTokens },
              fallbackCostLimitUsd: quote.ownKey ? undefined : quote.costUsd
            })
            return yield* makeChunkSource(Stream.mapChunksEffect(streamFromReader(events), countCost(opening)))
          })
          const makeEnd = (message: string) =>
            Effect.map(Ref.get(funding.spentUsd), (costUsd): PluginResult => ({
              type: "done",
              message,
              tokens: null,
              costUsd,
              ownKey: allByOwnKey,
              answeredBy
            }))
          const answered = answerInRounds({
            prompt: promptOf(task, yield* DateTime.now),
            caller: self,
            tools,
            contextWindow: orchestratorLimits.window,
            maxTokens: orchestratorLimits.answerTokens,
            canContinue,
            callModel,
            onUnterminated: () => new PluginFailed({ reason: "The model's answer had no end." }),
            makeEnd
          })
          return streamFromOpened(answered).pipe(
            Stream.mapChunks((events) => {
              for (const event of events) if (event.type === "delta") texts.push(event.text)
              return events
            }),
            // The task ends with the text produced so far.
            Stream.catchTag("TaskFundsExhausted", () =>
              texts.join("").trim() === "" ? Stream.fail(outOfFunds) : Stream.fromEffect(makeEnd(texts.join("")))
            )
          )
        })
      ).pipe(
        Stream.withSpan("Orchestrator.run", {
          attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Orchestrator" }
        })
      )

    /** Whether the user's own keys would run the task. */
    const usesOwnKeys = (userId: UserId) =>
      models
        .quote({
          messages: [{ role: "user", content: "" }],
          taskType,
          ownKeysOnly: true,
          caller: { userId, agentId: null }
        })
        .pipe(
          Effect.map(({ ownKey }) => ownKey),
          Effect.orElseSucceed(() => false)
        )

    return { run, usesOwnKeys }
  })
}) {}
