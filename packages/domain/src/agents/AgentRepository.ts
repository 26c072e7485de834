import { Context, type DateTime, type Effect, type Option } from "effect"
import type { Agent, AgentConfig } from "./Agent.ts"
import type { AgentStatus } from "./AgentStatus.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

export interface AgentChanges {
  readonly model?: Pick<Agent, "model" | "customModel"> | undefined
  /** Members that are absent stay. */
  readonly config?: Partial<AgentConfig> | undefined
}

export class AgentRepository extends Context.Tag("@berth/AgentRepository")<
  AgentRepository,
  {
    /** Serialises what follows in this transaction with every other caller for the same owner, so that a count stays true until commit. */
    readonly lockOwner: (ownerId: UserId) => Effect.Effect<void>
    /** Agents that use up the owner's limit: all but failed ones. */
    readonly countTowardsLimit: (ownerId: UserId) => Effect.Effect<number>
    readonly insert: (agent: Agent) => Effect.Effect<void>
    readonly find: (id: AgentId) => Effect.Effect<Option.Option<Agent>>
    readonly findOwned: (ownerId: UserId, id: AgentId) => Effect.Effect<Option.Option<Agent>>
    /** Of the agents among these that there are. */
    readonly findStatuses: (ids: ReadonlyArray<AgentId>) => Effect.Effect<ReadonlyMap<AgentId, AgentStatus>>
    /** Newest first. */
    readonly listOwned: (ownerId: UserId) => Effect.Effect<ReadonlyArray<Agent>>
    /** Stores what is given, in one step: what two callers change at once, each something else, is both there. None when the agent is gone. */
    readonly updateConfiguration: (id: AgentId, changes: AgentChanges) => Effect.Effect<Option.Option<Agent>>
    /** Adds a skill to the configuration or takes it out, whatever else changes at the same time; none when the agent is gone. */
    readonly setSkill: (id: AgentId, skillId: string, enabled: boolean) => Effect.Effect<Option.Option<Agent>>
    /** Deletes the agent with its sessions and messages; false when it was gone. */
    readonly remove: (id: AgentId) => Effect.Effect<boolean>
    /** Compare-and-set: false when the agent is no longer in `from`. Touches the agent, also when `to` is the same. */
    readonly changeStatus: (id: AgentId, from: AgentStatus, to: AgentStatus) => Effect.Effect<boolean>
    /** Agents in `provisioning` untouched since before `before`, oldest first. */
    readonly listStalledProvisioning: (before: DateTime.Utc) => Effect.Effect<ReadonlyArray<Agent>>
  }
>() {}
