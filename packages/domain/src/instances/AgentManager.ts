import { Context, type Effect, type Option, type Stream } from "effect"
import type { ModelReplacement } from "../agents/LegacyModels.ts"
import type { RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"
import type { InstanceStats } from "./InstanceStats.ts"
import type { Turn, TurnEvent, TurnFailed } from "./AgentRuntime.ts"
import type { BackendUnavailable, InstanceUnavailable, InstanceNotFound } from "./InstanceErrors.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

export interface RestartOutcome {
  readonly runtimeVersion: string
  /** Retired models that were replaced on the way. */
  readonly healings: ReadonlyArray<ModelReplacement>
}

/**
 * The backend's owner of the cells. Two Layers: in the backend's own process it acts, elsewhere it is a client of the
 * backend API; callers cannot tell which. Callers have settled ownership before.
 */
export class AgentManager extends Context.Tag("@berth/AgentManager")<
  AgentManager,
  {
    /** Brings the owner's cell up with this agent in it and marks the agent running. Doing it again changes nothing. */
    readonly deploy: (agentId: AgentId) => Effect.Effect<void, BackendUnavailable | InstanceUnavailable>
    /** Gives up on an agent whose deployment keeps failing: provisioning to error. */
    readonly failDeployment: (agentId: AgentId, reason: string) => Effect.Effect<void, BackendUnavailable>
    readonly start: (userId: UserId) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    readonly stop: (userId: UserId) => Effect.Effect<void, InstanceNotFound | BackendUnavailable>
    readonly restart: (
      userId: UserId
    ) => Effect.Effect<RestartOutcome, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Brings the cell up on the newest runtime; it counts as updated only when it answers. */
    readonly update: (
      userId: UserId
    ) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Rebuilds the cell's directory and configuration and brings it up; conversations, agents' files, limits and credentials stay. */
    readonly repair: (
      userId: UserId
    ) => Effect.Effect<void, InstanceNotFound | BackendUnavailable | InstanceUnavailable>
    /** Makes a cell that is up know the agents as the rows say; one with no agents left is stopped. Nothing for a cell that is down. */
    readonly reconfigure: (userId: UserId) => Effect.Effect<void, BackendUnavailable | InstanceUnavailable>
    /** Ends the cell of an owner whose account was deleted, and deletes its files. Nothing happens to anybody else's. */
    readonly remove: (userId: UserId) => Effect.Effect<void, BackendUnavailable>
    /** What the owner's cell and its host said lately, newest first; also of a cell that is down. */
    readonly logs: (userId: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage, BackendUnavailable>
    /** The figures of the owner's cell; none while it is down. */
    readonly stats: (userId: UserId) => Effect.Effect<Option.Option<InstanceStats>, BackendUnavailable>
    readonly chat: (
      userId: UserId,
      turn: Turn
    ) => Stream.Stream<TurnEvent, BackendUnavailable | InstanceUnavailable | TurnFailed>
  }
>() {}
