import { estimateTokens } from "@berth/domain/ai/EstimateTokens"
import { messageTokens, promptTokens, toolTokens, usableWindow } from "@berth/domain/ai/Prompt"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { DateTime, Effect, Option, Stream } from "effect"
import type { ModelCallFailed, ModelCalls } from "../ai/ModelCalls.ts"
import { type AgentTool, Toolbox, toolsOf } from "../skills/Toolbox.ts"
import { toSummarise } from "./Compaction.ts"
import { summarise, summaryTokens } from "./Summarise.ts"
import { answerWithTools } from "./AnswerWithTools.ts"
import { turnPrompt } from "./TurnMessages.ts"

/** The messages of a turn's history that have to go into its summary. */
const oldPart = (agent: RuntimeAgent, turn: Turn, tools: ReadonlyArray<AgentTool>, now: DateTime.Utc) => {
  const { history, message, system } = turnPrompt(agent, turn, now)
  const count = toSummarise({
    window: usableWindow(agent.contextWindow),
    fixed: promptTokens([system, message]) + toolTokens(tools.map(({ spec }) => spec)),
    history: turn.history.map(({ role, seq }, at) => {
      const said = history[at]
      return { seq, role, tokens: said === undefined ? 0 : messageTokens(said) }
    }),
    summary: summaryTokens(agent.contextWindow)
  })
  return turn.history.slice(0, count)
}

/** A turn whose history has become short enough, and what to tell of that. */
const compact = (agent: RuntimeAgent, turn: Turn, tools: ReadonlyArray<AgentTool>, now: DateTime.Utc) =>
  Effect.gen(function* () {
    const old = oldPart(agent, turn, tools, now)
    if (old.length === 0) return { turn, events: [] }
    const made = yield* summarise(agent, turn, old)
    if (Option.isNone(made)) return { turn, events: [] }
    const { covers, summary } = made.value
    const upToSeq = turn.history[covers - 1]?.seq ?? 0
    yield* Effect.logInfo("A conversation was summarised").pipe(
      Effect.annotateLogs({ messages: covers, tokens: estimateTokens(summary) })
    )
    const compacted: TurnEvent = { type: "compacted", summary, upToSeq }
    return { turn: { ...turn, summary, history: turn.history.slice(covers) }, events: [compacted] }
  })

/** Answers a turn: makes its conversation fit the model, then lets the model work with the agent's tools. */
export const answerTurn = (
  agent: RuntimeAgent,
  turn: Turn
): Stream.Stream<TurnEvent, ModelCallFailed, ModelCalls | Toolbox> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const tools = toolsOf(agent, yield* Toolbox)
      const compacted = yield* compact(agent, turn, tools, now)
      return Stream.concat(
        Stream.fromIterable(compacted.events),
        answerWithTools(agent, turn, turnPrompt(agent, compacted.turn, now), tools)
      )
    })
  )
