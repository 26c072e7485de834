import { Clock, DateTime, Duration, Effect, Ref, Stream } from "effect"
import type { Prompt } from "../../ai/prompt/PromptFitting.ts"
import { makeCalculatorTool } from "../../skills/calculator/CalculatorTool.ts"
import { currentTimeTool } from "../../skills/time/CurrentTimeTool.ts"
import { formatTimeText, parseZoneOrUtc } from "../../skills/time/TimeText.ts"
import * as Tool from "../../skills/tools/Tool.ts"
import { answerInRounds } from "../../skills/tools/ToolRounds.ts"
import { ModelAnswers, streamModelAnswer } from "../plugins/ModelAnswers.ts"
import { type PluginEvent, PluginFailed, type PluginInputInvalid } from "../plugins/PluginRun.ts"
import type { TaskText } from "./TaskText.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Bounds of a task, which has one price however long it takes. */
export const orchestratorLimits = {
  /** After so long a tool is offered no more, so that an answer comes before the task's deadline. */
  toolsFor: Duration.seconds(60),
  /** US dollars of the platform's that its calls may have taken, and it still may use another tool. */
  toolsUpToUsd: 0.02,
  /** Tokens of a call of the model, its answer included, and those of its answer. */
  window: 16_000,
  answerTokens: 2_048,
  /** Calls of the calculator. It works where everybody's requests are served, so none may take long. */
  calculations: 24,
  expression: { characters: 200, functions: 4 }
}

/** The context of the tools. */
const self = { timezone: "UTC" }
type Self = typeof self

/** The tools that need no owner: nothing is kept, and nobody is reached. */
const toolsOfRun = Effect.map(Ref.make(orchestratorLimits.calculations), (left): ReadonlyArray<Tool.Tool<Self>> => {
  const calculate = makeCalculatorTool(orchestratorLimits.expression)
  return [
    currentTimeTool,
    {
      ...calculate,
      run: (text, who) =>
        Effect.flatMap(
          Ref.getAndUpdate(left, (count) => count - 1),
          (count) =>
            count > 0
              ? calculate.run(text, who)
              : new Tool.ToolFailed({ reason: "You have calculated as often as one task allows." })
        )
    }
  ]
})

const instructions = (context: string, now: DateTime.Utc) =>
  [
    "You are an agent that does tasks of several steps for callers of the Berth gateway.",
    "Work step by step. Use your tools wherever they make an answer surer, and never make up what a tool can tell. Nobody can answer questions on the way, so say what you assume, and end with the whole result.",
    // To the minute: seconds would only make the same question look new to a provider's cache.
    `It is ${formatTimeText(now, parseZoneOrUtc(self.timezone))}.`,
    ...(context === "" ? [] : [`Context from the caller:\n${context}`])
  ].join("\n\n")

const promptOf = ({ context, history, task }: TaskText, now: DateTime.Utc): Prompt => ({
  system: { role: "system", content: instructions(context, now) },
  history,
  message: { role: "user", content: task },
  rounds: []
})

/** The platform's own agent for whoever has none: a model, tools that need no owner, and an end that is sure to come. */
export class Orchestrator extends Effect.Service<Orchestrator>()("@berth/Orchestrator", {
  effect: Effect.map(ModelAnswers, (models) => ({
    /** Does a task for a caller, by his own keys where he has some. */
    run: (task: TaskText, userId: UserId | null): Stream.Stream<PluginEvent, PluginFailed | PluginInputInvalid> =>
      Stream.unwrap(
        Effect.gen(function* () {
          const tools = yield* toolsOfRun
          const began = yield* Clock.currentTimeMillis
          let spentUsd = 0
          let allByOwnKey = true
          const mayGoOn = Effect.map(
            Clock.currentTimeMillis,
            (now) =>
              now - began < Duration.toMillis(orchestratorLimits.toolsFor) && spentUsd < orchestratorLimits.toolsUpToUsd
          )
          return answerInRounds({
            prompt: promptOf(task, yield* DateTime.now),
            who: self,
            tools,
            contextWindow: orchestratorLimits.window,
            maxTokens: orchestratorLimits.answerTokens,
            canContinue: mayGoOn,
            callModel: (messages, specs) =>
              streamModelAnswer(models, {
                messages,
                // A fast model suffices for a few steps at the price of one call.
                taskType: "fast",
                options: { tools: specs, maxTokens: orchestratorLimits.answerTokens },
                caller: { userId, agentId: null }
              }).pipe(
                Stream.tap((event) =>
                  Effect.sync(() => {
                    if (event.type !== "done") return
                    if (!event.ownKey) spentUsd += event.costUsd
                    allByOwnKey = allByOwnKey && event.ownKey
                  })
                )
              ),
            onUnterminated: () => new PluginFailed({ reason: "The model's answer had no end." })
          }).pipe(
            Stream.map((event): PluginEvent =>
              event.type === "delta"
                ? event
                : { type: "done", message: event.reply, tokens: null, costUsd: null, ownKey: allByOwnKey }
            )
          )
        })
      ).pipe(Stream.withSpan("Orchestrator.run", { attributes: { "gen_ai.operation.name": "invoke_agent" } }))
  }))
}) {}
