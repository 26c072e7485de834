import { Context } from "effect"
import type { Option } from "effect"
import type { User } from "../../shared/User.ts"
import type { ChatMessage } from "../../ai/chat/ModelChat.ts"
import type { PluginRun } from "../plugins/PluginRun.ts"
import type { AgentId } from "../../shared/AgentId.ts"

export interface AgentTask {
  /** The owner of the agent; none for anonymous callers. */
  readonly caller: Option.Option<User>
  readonly messages: ReadonlyArray<ChatMessage>
  /** One of the caller's, which must be up; absent: the oldest that is up, else the platform's orchestrator. */
  readonly agentId?: AgentId | undefined
}

/** Tasks of several steps, done by the caller's agent with its skills, or by the platform's own orchestrator for whoever has none. */
export class AgentTasks extends Context.Tag("@berth/AgentTasks")<
  AgentTasks,
  {
    /** Fails before its first event where the agent that is named is not the caller's. */
    readonly run: (task: AgentTask) => PluginRun
  }
>() {}
