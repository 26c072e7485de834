import { Context, type Effect, type Option, type Ref } from "effect"
import type { ChatMessage } from "../../ai/chat/ModelChat.ts"
import type { TurnPayment } from "../../interaction/turns/TurnPayment.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { User } from "../../shared/User.ts"
import type { PluginRun } from "../plugins/PluginRun.ts"

/** Payment of the model calls of a task. */
export interface TaskFunding extends TurnPayment {
  /** Cost of the calls so far, in US dollars; complete once the task has ended. */
  readonly spentUsd: Ref.Ref<number>
}

export interface AgentTask {
  /** The owner of the agent; none for anonymous callers. */
  readonly caller: Option.Option<User>
  readonly messages: ReadonlyArray<ChatMessage>
  /** An agent of the caller that is up. Absent: the caller's oldest one that is up, else the platform's orchestrator. */
  readonly agentId?: AgentId | undefined
  /** Without it, only the budget of a turn bounds the task. */
  readonly funding?: TaskFunding | undefined
}

/** Tasks of several steps, by the caller's agent with its skills, or by the platform's orchestrator. */
export class AgentTasks extends Context.Tag("@berth/AgentTasks")<
  AgentTasks,
  {
    /** Fails before its first event when the named agent is not the caller's. */
    readonly run: (task: AgentTask) => PluginRun
    /** Whether the caller's own keys would answer the task. */
    readonly usesOwnKeys: (task: Pick<AgentTask, "caller" | "agentId">) => Effect.Effect<boolean>
  }
>() {}
