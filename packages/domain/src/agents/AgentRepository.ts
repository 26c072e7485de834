import { Context, type DateTime, type Effect, type Option } from "effect"
import type { Agent, AgentConfig } from "./Agent.ts"
import type { AgentStatus } from "./AgentStatus.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

interface AgentChanges {
  readonly model?: Pick<Agent, "model" | "customModel"> | undefined
  /** Absent members remain unchanged. */
  readonly config?: Partial<AgentConfig> | undefined
}

export class AgentRepository extends Context.Tag("@berth/AgentRepository")<
  AgentRepository,
  {
    /** Serializes the rest of the transaction per owner, so that a count is exact until commit. */
    readonly lockOwner: (ownerId: UserId) => Effect.Effect<void>
    /** Agents that count towards the owner's limit: all but failed ones. */
    readonly countTowardsLimit: (ownerId: UserId) => Effect.Effect<number>
    /** Transfers the agent to another owner in status `provisioning`. None if `from` does not own it. */
    readonly transfer: (id: AgentId, from: UserId, to: UserId) => Effect.Effect<Option.Option<Agent>>
    readonly insert: (agent: Agent) => Effect.Effect<void>
    readonly find: (id: AgentId) => Effect.Effect<Option.Option<Agent>>
    readonly findOwned: (ownerId: UserId, id: AgentId) => Effect.Effect<Option.Option<Agent>>
    /** Missing agents are absent from the result. */
    readonly findStatuses: (ids: ReadonlyArray<AgentId>) => Effect.Effect<ReadonlyMap<AgentId, AgentStatus>>
    /** Newest first. */
    readonly listOwned: (ownerId: UserId) => Effect.Effect<ReadonlyArray<Agent>>
    /** Atomic: concurrent changes of other members are kept. None for a deleted agent. */
    readonly updateConfiguration: (id: AgentId, changes: AgentChanges) => Effect.Effect<Option.Option<Agent>>
    /** Adds or removes one skill atomically. None for a deleted agent. */
    readonly setSkill: (id: AgentId, skillId: string, enabled: boolean) => Effect.Effect<Option.Option<Agent>>
    /** Deletes the agent with its sessions and messages. False if absent. */
    readonly remove: (id: AgentId) => Effect.Effect<boolean>
    /** Compare-and-set: false if the status is not `from`. Sets `updatedAt` even if `to` equals `from`. */
    readonly changeStatus: (id: AgentId, from: AgentStatus, to: AgentStatus) => Effect.Effect<boolean>
    /** Agents in `provisioning` last updated before `before`, oldest first. */
    readonly listStalledProvisioning: (before: DateTime.Utc) => Effect.Effect<ReadonlyArray<Agent>>
  }
>() {}
