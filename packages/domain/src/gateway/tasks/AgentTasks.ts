import { Context, type Effect, type Option, type Ref } from "effect"
import type { ChatMessage } from "../../ai/chat/ModelChat.ts"
import type { TurnPayment } from "../../interaction/turns/TurnPayment.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { User } from "../../shared/User.ts"
import type { PluginRun } from "../plugins/PluginRun.ts"

export interface TaskFunding extends TurnPayment {
  /** Cost of the calls so far in US dollars; final after the task. */
  readonly spentUsd: Ref.Ref<number>
}

export interface AgentTask {
  /** The owner of the agent; none for anonymous callers. */
  readonly caller: Option.Option<User>
  readonly messages: ReadonlyArray<ChatMessage>
  /** A running agent of the caller. Absent: the caller's oldest running agent, else the platform's orchestrator. */
  readonly agentId?: AgentId | undefined
  /** Absent: only the budget of a turn limits the task. */
  readonly funding?: TaskFunding | undefined
}

/** Tasks of several steps, run by the caller's agent with its skills, or by the platform's orchestrator. */
export class AgentTasks extends Context.Tag("@berth/AgentTasks")<
  AgentTasks,
  {
    /** Fails before its first event if the named agent is not the caller's. */
    readonly run: (task: AgentTask) => PluginRun
    readonly usesOwnKeys: (task: Pick<AgentTask, "caller" | "agentId">) => Effect.Effect<boolean>
  }
>() {}
