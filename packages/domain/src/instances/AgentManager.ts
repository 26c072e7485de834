import { Context, type Effect, type Option, type Scope } from "effect"
import type { PlanLimitReached } from "../agents/AgentErrors.ts"
import type { ModelReplacement } from "../agents/LegacyModels.ts"
import type { RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"
import type { InstanceStats } from "./InstanceStats.ts"
import type { Turn, TurnEvents, TurnFailed } from "./AgentRuntime.ts"
import type { BackendUnavailable, InstanceUnavailable, InstanceNotFound } from "./InstanceErrors.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

interface RestartOutcome {
  readonly runtimeVersion: string
  /** Replaced retired models. */
  readonly healings: ReadonlyArray<ModelReplacement>
}

export type ManagedTurnFailure = BackendUnavailable | InstanceUnavailable | TurnFailed

/** Manages the instances of a backend, in its process or over the backend API. Callers check ownership. */
export class AgentManager extends Context.Tag("@berth/AgentManager")<
  AgentManager,
  {
    /** Starts the owner's instance with this agent and marks the agent as running. Idempotent. */
    readonly deploy: (agentId: AgentId) => Effect.Effect<void, BackendUnavailable | InstanceUnavailable>
    /** As `deploy`, for an agent of any status and within the plan's limit. False if the agent was already running. */
    readonly activate: (
      agentId: AgentId
    ) => Effect.Effect<boolean, BackendUnavailable | InstanceUnavailable | PlanLimitReached>
    /** Changes an agent's status from provisioning to error. */
    readonly failDeployment: (agentId: AgentId, reason: string) => Effect.Effect<void, BackendUnavailable>
    readonly start: (userId: UserId) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    readonly stop: (userId: UserId) => Effect.Effect<void, InstanceNotFound | BackendUnavailable>
    readonly restart: (
      userId: UserId
    ) => Effect.Effect<RestartOutcome, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Replaces the instance with the newest runtime version; keeps the new version only if it works. */
    readonly update: (
      userId: UserId
    ) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Rebuilds the instance. Conversations, agents' files and credentials are kept. */
    readonly repair: (
      userId: UserId
    ) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /**
     * Applies the stored agents to a running instance, or stops it if none is left, and deletes the files of deleted
     * agents. Idempotent.
     */
    readonly reconfigure: (userId: UserId) => Effect.Effect<void, BackendUnavailable | InstanceUnavailable>
    /** Removes the instance and the files of a deleted account. No effect for existing accounts. */
    readonly remove: (userId: UserId) => Effect.Effect<void, BackendUnavailable>
    /** Recent log entries of instance and host, newest first, even for a stopped instance. */
    readonly logs: (userId: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage, BackendUnavailable>
    /** None while the instance is down. */
    readonly stats: (userId: UserId) => Effect.Effect<Option.Option<InstanceStats>, BackendUnavailable>
    /** Bytes of all agents' files. None while the instance is down, and for a runtime of an earlier release. */
    readonly measureStorage: (
      userId: UserId
    ) => Effect.Effect<Option.Option<number>, BackendUnavailable | InstanceUnavailable>
    /** Returns after the runtime has accepted the turn. Closing the scope ends the turn. */
    readonly chat: (
      userId: UserId,
      turn: Turn
    ) => Effect.Effect<TurnEvents<ManagedTurnFailure>, ManagedTurnFailure, Scope.Scope>
  }
>() {}
