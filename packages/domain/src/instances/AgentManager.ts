import { Context, type Effect, type Option, type Scope } from "effect"
import type { PlanLimitReached } from "../agents/AgentErrors.ts"
import type { ModelReplacement } from "../agents/LegacyModels.ts"
import type { RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"
import type { InstanceStats } from "./InstanceStats.ts"
import type { Turn, TurnEvents, TurnFailed } from "./AgentRuntime.ts"
import type { BackendUnavailable, InstanceUnavailable, InstanceNotFound } from "./InstanceErrors.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

export interface RestartOutcome {
  readonly runtimeVersion: string
  /** The retired models that were replaced. */
  readonly healings: ReadonlyArray<ModelReplacement>
}

export type ManagedTurnFailure = BackendUnavailable | InstanceUnavailable | TurnFailed

/** Manages the instances of a backend, in its process or over the backend API. Callers have checked the ownership. */
export class AgentManager extends Context.Tag("@berth/AgentManager")<
  AgentManager,
  {
    /** Brings the owner's instance up with this agent and marks the agent running. Idempotent. */
    readonly deploy: (agentId: AgentId) => Effect.Effect<void, BackendUnavailable | InstanceUnavailable>
    /** As `deploy`, for an agent of any status and within the plan's limit. False when the agent was up already. */
    readonly activate: (
      agentId: AgentId
    ) => Effect.Effect<boolean, BackendUnavailable | InstanceUnavailable | PlanLimitReached>
    /** Moves an agent from provisioning to error. */
    readonly failDeployment: (agentId: AgentId, reason: string) => Effect.Effect<void, BackendUnavailable>
    readonly start: (userId: UserId) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    readonly stop: (userId: UserId) => Effect.Effect<void, InstanceNotFound | BackendUnavailable>
    readonly restart: (
      userId: UserId
    ) => Effect.Effect<RestartOutcome, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Replaces the instance by one of the newest runtime version; keeps the version only when it works. */
    readonly update: (
      userId: UserId
    ) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Rebuilds the instance. Conversations, agents' files and credentials stay. */
    readonly repair: (
      userId: UserId
    ) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /**
     * Configures a running instance with the agents of the rows, or stops it when no agent is left, and deletes the files of
     * deleted agents. Idempotent.
     */
    readonly reconfigure: (userId: UserId) => Effect.Effect<void, BackendUnavailable | InstanceUnavailable>
    /** Removes the instance and the files of a deleted account. Ignored for other accounts. */
    readonly remove: (userId: UserId) => Effect.Effect<void, BackendUnavailable>
    /** The recent log entries of instance and host, newest first, also of a stopped instance. */
    readonly logs: (userId: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage, BackendUnavailable>
    /** None while the instance is down. */
    readonly stats: (userId: UserId) => Effect.Effect<Option.Option<InstanceStats>, BackendUnavailable>
    /** Bytes of all agents' files. None while the instance is down, and of a runtime of an earlier release. */
    readonly measureStorage: (
      userId: UserId
    ) => Effect.Effect<Option.Option<number>, BackendUnavailable | InstanceUnavailable>
    /** Returns when the runtime has accepted the turn, which ends with the scope. */
    readonly chat: (
      userId: UserId,
      turn: Turn
    ) => Effect.Effect<TurnEvents<ManagedTurnFailure>, ManagedTurnFailure, Scope.Scope>
  }
>() {}
