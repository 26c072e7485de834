import { Duration, Effect, Layer, Option, Ref, Stream } from "effect"
import { streamFromOpened } from "../../ai/streams/ChunkSource.ts"
import type { ModelDelta } from "../../ai/streams/ModelEvent.ts"
import { convertMicrosToUsd } from "../../shared/Money.ts"
import type { User } from "../../shared/User.ts"
import type { Agent } from "../../agents/Agent.ts"
import { AgentNotFound } from "../../agents/AgentErrors.ts"
import { Agents } from "../../agents/Agents.ts"
import { isUp } from "../../agents/AgentStatus.ts"
import { ownableProviders, OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { AgentManager } from "../../instances/AgentManager.ts"
import type { TurnEvent } from "../../instances/AgentRuntime.ts"
import { ChatSessionId } from "../../interaction/Conversation.ts"
import { fitHistory, maximumHistoryMessages } from "../../interaction/conversations/HistoryWindow.ts"
import { Memories } from "../../interaction/memory/Memories.ts"
import { isPaidByOwnKeys } from "../../interaction/turns/TurnPricing.ts"
import { OwnerModels } from "../../ai/models/OwnerModels.ts"
import { TaskTurns } from "../../interaction/turns/TaskTurns.ts"
import { type AgentTask, AgentTasks, type TaskFunding } from "./AgentTasks.ts"
import { Orchestrator } from "./Orchestrator.ts"
import { mapStreamEnd, PluginFailed, PluginInputInvalid, type PluginResult } from "../plugins/PluginRun.ts"
import { type TaskText, parseTaskText, formatTaskWithContext } from "./TaskText.ts"
import type { AgentId } from "../../shared/AgentId.ts"

/** Timeout of a task. */
const deadline = Duration.minutes(5)

type TurnEnd = Extract<TurnEvent, { readonly type: "done" }>

/** Stateless task: ignore compaction. */
const isAnswer = (event: TurnEvent): event is ModelDelta | TurnEnd =>
  event.type === "done" || (event.type === "delta" && event.text !== "")

const make = Effect.gen(function* () {
  const agents = yield* Agents
  const manager = yield* AgentManager
  const memories = yield* Memories
  const turns = yield* TaskTurns
  const ownerKeys = yield* OwnerKeys
  const models = yield* OwnerModels
  const ids = yield* IdGenerator
  const orchestrator = yield* Orchestrator

  /** Returns the caller's agent for the task; none for the orchestrator. */
  const findAgent = Effect.fn("AgentTasks.findAgent")(function* (user: User, agentId: AgentId | undefined) {
    if (agentId === undefined) return yield* agents.findDefaultRunning(user.id)
    const agent = yield* agents.find(user.id, agentId)
    if (!isUp(agent.status))
      return yield* new PluginInputInvalid({ field: "agentId", reason: "is an agent that is not up: start it first" })
    return Option.some(agent)
  })

  /**
   * Runs a task by an agent, in a turn without storage. Each task has a separate session, so that tasks run
   * concurrently.
   */
  const runByAgent = (user: User, agent: Agent, text: TaskText, funding: TaskFunding) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const message = formatTaskWithContext(text)
        const sessionId = ChatSessionId.make(yield* ids.next("chs"))
        const turn = { userId: user.id, agentId: agent.id, turnId: yield* ids.next("tsk") }
        yield* Effect.annotateCurrentSpan({ "agent.id": agent.id, "user.id": user.id })
        const task = { agentId: agent.id, userId: user.id, sessionId, content: text.task }
        const known = yield* memories.recallForTurn(task)
        const endTurn = yield* turns.begin(turn, {
          payment: funding,
          report: ({ costMicros }) => Ref.set(funding.spentUsd, convertMicrosToUsd(costMicros))
        })
        const end = ({ model, provider, reply }: TurnEnd) =>
          Effect.map(endTurn, (usage): PluginResult => ({
            type: "done",
            message: reply,
            tokens: null,
            costUsd: convertMicrosToUsd(usage.costMicros),
            ownKey: isPaidByOwnKeys(usage),
            answeredBy: provider === undefined ? undefined : { model, provider }
          }))
        const events = manager.chat(user.id, {
          agentId: agent.id,
          sessionId,
          messageId: turn.turnId,
          summary: null,
          fromOwner: known.fromOwner,
          memories: known.memories,
          history: fitHistory(text.history.slice(-maximumHistoryMessages)).map((entry, at) => ({
            seq: at + 1,
            ...entry
          })),
          message
        })
        return streamFromOpened(events).pipe(
          Stream.mapError(({ reason }) => new PluginFailed({ reason: `The agent did not answer: ${reason}` })),
          Stream.filter(isAnswer),
          mapStreamEnd(end)
        )
      })
    ).pipe(Stream.withSpan("AgentTasks.runByAgent"))

  const run = ({ agentId, caller, messages, funding: callFunding }: AgentTask) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const owned = yield* Option.match(caller, {
          // An anonymous caller owns no agent.
          onNone: () => (agentId === undefined ? Effect.succeedNone : new AgentNotFound()),
          onSome: (user) =>
            Effect.map(
              findAgent(user, agentId),
              Option.map((agent) => ({ user, agent }))
            )
        })
        const text = yield* parseTaskText(messages)
        const funding = callFunding ?? { reservation: Option.none(), ownKeysOnly: false, spentUsd: yield* Ref.make(0) }
        return Option.match(owned, {
          onNone: () => orchestrator.run(text, Option.getOrNull(Option.map(caller, ({ id }) => id)), funding),
          onSome: ({ agent, user }) => runByAgent(user, agent, text, funding)
        })
      })
    ).pipe(withEnd)

  const usesOwnKeys = Effect.fn("AgentTasks.usesOwnKeys")(function* ({
    agentId,
    caller
  }: Pick<AgentTask, "caller" | "agentId">) {
    if (Option.isNone(caller)) return false
    const { id } = caller.value
    const keys = yield* ownerKeys.find(id)
    if (ownableProviders.every((name) => keys[name] === undefined)) return false
    const agent = yield* Effect.option(findAgent(caller.value, agentId))
    if (Option.isNone(agent)) return false
    return yield* Option.match(agent.value, {
      onNone: () => orchestrator.usesOwnKeys(id),
      onSome: ({ customModel, model }) => models.isCoveredByOwnKeys(id, customModel ?? model)
    })
  })

  return AgentTasks.of({ run, usesOwnKeys })
})

/** Fails a run that has no reply at the deadline. */
const withEnd = <E>(run: Stream.Stream<ModelDelta | PluginResult, E>) =>
  Stream.suspend(() => {
    let isDone = false
    return run.pipe(
      mapStreamEnd((result: PluginResult) => {
        isDone = true
        return result.message.trim() === ""
          ? new PluginFailed({ reason: "The agent had nothing to say." })
          : Effect.succeed(result)
      }),
      Stream.concat(
        Stream.suspend(() =>
          isDone ? Stream.empty : Stream.fail(new PluginFailed({ reason: "The agent stopped in the middle." }))
        )
      ),
      // The caller may be uninterruptible, but the timeout must still interrupt.
      Stream.interruptWhen(
        Effect.interruptible(
          Effect.zipRight(
            Effect.sleep(deadline),
            new PluginFailed({ reason: `The task was not done within ${Duration.format(deadline)}.` })
          )
        )
      )
    )
  })

/** Runs tasks by the caller's agent in its instance, or by the orchestrator. */
export const layer = Layer.effect(AgentTasks, make).pipe(Layer.provide(Orchestrator.Default))
