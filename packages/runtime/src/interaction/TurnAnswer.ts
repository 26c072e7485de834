import { estimateTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import {
  estimateMessageTokens,
  estimateMessagesTokens,
  estimateSerializedToolTokens,
  computeUsableWindow
} from "@berth/domain/ai/prompt/PromptBudget"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { DateTime, Effect, Option, Stream } from "effect"
import type { ModelCallFailed, ModelClient } from "../ai/ModelClient.ts"
import { type AgentTool, Toolbox, selectTools } from "../skills/Toolbox.ts"
import { countMessagesToSummarize } from "./Compaction.ts"
import { summarizeConversation, maximumSummaryTokens } from "./ConversationSummary.ts"
import { answerWithTools } from "./TurnToolRounds.ts"
import { makeTurnPrompt } from "./TurnPrompt.ts"

/** The messages of a turn's history that have to go into its summary. */
const messagesToCompact = (agent: RuntimeAgent, turn: Turn, tools: ReadonlyArray<AgentTool>, now: DateTime.Utc) => {
  const { history, message, system } = makeTurnPrompt(agent, turn, now)
  const count = countMessagesToSummarize({
    window: computeUsableWindow(agent.contextWindow),
    fixed: estimateMessagesTokens([system, message]) + estimateSerializedToolTokens(tools.map(({ spec }) => spec)),
    history: turn.history.map(({ role, seq }, at) => {
      const said = history[at]
      return { seq, role, tokens: said === undefined ? 0 : estimateMessageTokens(said) }
    }),
    summary: maximumSummaryTokens(agent.contextWindow)
  })
  return turn.history.slice(0, count)
}

/** A turn whose history has become short enough, and what to tell of that. */
const compact = (agent: RuntimeAgent, turn: Turn, tools: ReadonlyArray<AgentTool>, now: DateTime.Utc) =>
  Effect.gen(function* () {
    const old = messagesToCompact(agent, turn, tools, now)
    if (old.length === 0) return { turn, events: [] }
    const made = yield* summarizeConversation(agent, turn, old)
    if (Option.isNone(made)) return { turn, events: [] }
    const { messageCount, summary } = made.value
    const upToSeq = turn.history[messageCount - 1]?.seq ?? 0
    yield* Effect.logInfo("A conversation was summarised").pipe(
      Effect.annotateLogs({ messages: messageCount, tokens: estimateTokens(summary) })
    )
    const compacted: TurnEvent = { type: "compacted", summary, upToSeq }
    return { turn: { ...turn, summary, history: turn.history.slice(messageCount) }, events: [compacted] }
  })

/** Answers a turn: makes its conversation fit the model, then lets the model work with the agent's tools. */
export const answerTurn = (
  agent: RuntimeAgent,
  turn: Turn
): Stream.Stream<TurnEvent, ModelCallFailed, ModelClient | Toolbox> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const now = yield* DateTime.now
      const tools = selectTools(agent, yield* Toolbox)
      const compacted = yield* compact(agent, turn, tools, now)
      return Stream.concat(
        Stream.fromIterable(compacted.events),
        answerWithTools(agent, turn, makeTurnPrompt(agent, compacted.turn, now), tools)
      )
    })
  )
