import type { Prompt } from "@berth/domain/ai/prompt/PromptFitting"
import {
  type ChunkBatch,
  type ChunkSource,
  makeSingleChunkSource,
  mapBatches,
  prependChunk
} from "@berth/domain/ai/streams/ChunkSource"
import type { ChatMessage, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { estimateTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import {
  estimateMessageTokens,
  estimateMessagesTokens,
  estimateSerializedToolTokens,
  computeUsableWindow
} from "@berth/domain/ai/prompt/PromptBudget"
import type { RuntimeAgent, ToolInvocation, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { shortenToolActivity } from "@berth/domain/skills/tools/ToolActivity"
import { sanitizeToolResult } from "@berth/domain/skills/tools/ToolExecution"
import { answerInRounds } from "@berth/domain/skills/tools/ToolRounds"
import { DateTime, Duration, Effect, Option, type Scope } from "effect"
import { type ModelAnswer, ModelCallFailed, ModelClient } from "../ai/ModelClient.ts"
import type { McpBackend } from "../skills/BackendCalls.ts"
import { listMcpTools } from "../skills/mcp/McpTools.ts"
import { makeSkillTools } from "../skills/SkillScripts.ts"
import { type AgentTool, Toolbox, selectTools, withoutOwnerTools } from "../skills/Toolbox.ts"
import { countMessagesToSummarize } from "./Compaction.ts"
import { summarizeConversation, maximumSummaryTokens } from "./ConversationSummary.ts"
import { makeTurnPrompt } from "./TurnPrompt.ts"

const selectMessagesToCompact = (
  agent: RuntimeAgent,
  turn: Turn,
  { history, message, system }: Prompt,
  tools: ReadonlyArray<AgentTool>
) => {
  const count = countMessagesToSummarize({
    window: computeUsableWindow(agent.contextWindow),
    fixed: estimateMessagesTokens([system, message]) + estimateSerializedToolTokens(tools.map(({ spec }) => spec)),
    history: turn.history.map(({ role, seq }, at) => {
      const prompted = history[at]
      return { seq, role, tokens: prompted === undefined ? 0 : estimateMessageTokens(prompted) }
    }),
    summary: maximumSummaryTokens(agent.contextWindow)
  })
  return turn.history.slice(0, count)
}

/** Returns the prompt with a history that fits, and the events to publish about the compaction. */
const compact = Effect.fnUntraced(function* (
  agent: RuntimeAgent,
  turn: Turn,
  tools: ReadonlyArray<AgentTool>,
  now: DateTime.Utc
) {
  const prompt = makeTurnPrompt(agent, turn, now)
  const old = selectMessagesToCompact(agent, turn, prompt, tools)
  if (old.length === 0) return { prompt, events: [] }
  const made = yield* summarizeConversation(agent, turn, old)
  if (Option.isNone(made)) return { prompt, events: [] }
  const { messageCount, summary } = made.value
  const upToSeq = turn.history[messageCount - 1]?.seq ?? 0
  yield* Effect.logInfo("Conversation summarized").pipe(
    Effect.annotateLogs({ messages: messageCount, tokens: estimateTokens(summary) })
  )
  const compacted: TurnEvent = { type: "compacted", summary, upToSeq }
  const rest = { ...turn, summary, history: turn.history.slice(messageCount) }
  return { prompt: makeTurnPrompt(agent, rest, now), events: [compacted] }
})

type TurnAnswer<E> = ChunkSource<TurnEvent, E>

const answerPrompt = (
  models: ModelClient["Type"],
  agent: RuntimeAgent,
  turn: Turn,
  prompt: Prompt,
  tools: ReadonlyArray<AgentTool>
): Effect.Effect<TurnAnswer<ModelCallFailed>, never, Scope.Scope> =>
  Effect.suspend(() => {
    let hasText = false
    let answeredBy: { readonly model: string; readonly provider?: string } = { model: agent.model }
    const endsHere = (failure: ModelCallFailed | undefined) => failure?.isBudgetExhausted === true && hasText
    const callModel = (messages: ReadonlyArray<ChatMessage>, specs: ReadonlyArray<ToolSpec>) => {
      let callHasText = false
      const observe = (events: ReadonlyArray<ModelAnswer>) => {
        for (const event of events)
          if (event.type === "delta") {
            callHasText ||= event.text.trim() !== ""
            hasText ||= callHasText
          } else if (event.type === "done" && (callHasText || !hasText))
            answeredBy = { model: event.model, provider: event.provider }
      }
      return models
        .answer({
          agentId: agent.id,
          messageId: turn.messageId,
          conversation: { id: turn.sessionId, agentName: agent.name },
          model: agent.model,
          messages,
          tools: specs,
          temperature: agent.temperature,
          maxTokens: agent.maxTokens
        })
        .pipe(
          Effect.map((events) =>
            mapBatches(events, (batch): ChunkBatch<ModelAnswer, ModelCallFailed> => {
              observe(batch.values)
              return endsHere(batch.failure) ? { ...batch, failure: undefined } : batch
            })
          ),
          Effect.catchIf(endsHere, () => Effect.succeed(makeSingleChunkSource<ModelAnswer>([])))
        )
    }
    return answerInRounds({
      prompt,
      tools,
      caller: { messageId: turn.messageId, ...agent },
      contextWindow: agent.contextWindow,
      maxTokens: agent.maxTokens,
      callModel,
      makeReport:
        turn.reportsTools === true
          ? (call): TurnEvent => ({ type: "tool", call: shortenToolActivity(call) })
          : undefined,
      onUnterminated: () => new ModelCallFailed({ reason: "The model's answer had no end." }),
      makeEnd: (reply) => Effect.sync((): TurnEvent => ({ type: "done", reply, ...answeredBy }))
    })
  })

/** Runs one of the agent's tools; its failure fails the turn. */
const invoke = Effect.fnUntraced(function* (
  agent: RuntimeAgent,
  turn: Turn,
  tools: ReadonlyArray<AgentTool>,
  call: ToolInvocation
) {
  const tool = tools.find(({ spec }) => spec.name === call.tool)
  if (tool === undefined) return yield* new ToolFailed({ reason: `The agent has no tool ${call.tool}.` })
  const reply = yield* tool.run(JSON.stringify(call.arguments), { messageId: turn.messageId, ...agent }).pipe(
    Effect.timeoutFail({
      duration: tool.timeout,
      onTimeout: () => new ToolFailed({ reason: `The tool did not answer within ${Duration.format(tool.timeout)}.` })
    })
  )
  return { type: "done", reply: sanitizeToolResult(reply), model: agent.model } satisfies TurnEvent
})

/** Runs a turn's invocation, or compacts its history to the context window and answers in rounds of tools. */
export const answerTurn = Effect.fnUntraced(function* (
  configured: RuntimeAgent,
  turn: Turn
): Effect.fn.Return<TurnAnswer<ModelCallFailed>, ToolFailed, ModelClient | Toolbox | McpBackend | Scope.Scope> {
  const now = yield* DateTime.now
  const models = yield* ModelClient
  const agent = turn.fromOwner ? configured : withoutOwnerTools(configured)
  const uploaded = agent.skills.flatMap(makeSkillTools)
  const local = [...selectTools(agent, yield* Toolbox), ...uploaded]
  if (turn.invocation !== undefined)
    return makeSingleChunkSource<TurnEvent>([yield* invoke(agent, turn, local, turn.invocation)])
  const tools = [...local, ...(yield* listMcpTools({ messageId: turn.messageId, ...agent }, local))]
  const { events, prompt } = yield* compact(agent, turn, tools, now)
  return prependChunk(events, yield* answerPrompt(models, agent, turn, prompt, tools))
})
