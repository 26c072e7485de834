import { Context, Data, type DateTime, type Effect, type Option, type Redacted, type Stream } from "effect"
import type { RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"
import type { InstanceStats } from "./InstanceStats.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** Specification of an instance. Its token is its only secret, and is not shared. */
export interface InstanceSpec {
  readonly owner: UserId
  readonly memoryMb: number
  /** Cores; not limited by the process driver. */
  readonly cpus: number
  readonly diskMb: number
  readonly token: Redacted.Redacted
  /** Base address of the backend API, as reachable from the instance. */
  readonly backendUrl: string
}

export interface RunningInstance {
  readonly owner: UserId
  /** Address of the runtime's HTTP listener; only the backend uses it. */
  readonly endpoint: string
  readonly startedAt: DateTime.Utc
  readonly runtimeVersion: string
}

/** An unrequested exit. */
export interface InstanceExit {
  readonly owner: UserId
  readonly reason: string
}

export class InstanceStartFailed extends Data.TaggedError("InstanceStartFailed")<{
  readonly owner: UserId
  readonly reason: string
}> {
  override readonly message = this.reason
}

/** The host is unavailable; the instance did not fail and may still run. */
export class InstanceHostUnavailable extends Data.TaggedError("InstanceHostUnavailable")<{ readonly reason: string }> {
  override readonly message = this.reason
}

/**
 * Starts and stops instances on one kind of host: child processes, containers or pods. Calls for an owner never
 * overlap.
 */
export class InstanceDriver extends Context.Tag("@berth/InstanceDriver")<
  InstanceDriver,
  {
    /**
     * Returns after the instance passes its health check. Adopts a running instance, including those of an earlier
     * backend. Keeps the owner's runtime version while it is installed.
     */
    readonly start: (
      spec: InstanceSpec
    ) => Effect.Effect<RunningInstance, InstanceStartFailed | InstanceHostUnavailable>
    /**
     * Replaces the instance with the newest version, which is kept if `accept` succeeds; otherwise no instance remains
     * and the next start runs the previous version. `fresh` first deletes all files except the agents'.
     */
    readonly update: <E>(
      spec: InstanceSpec,
      options: { readonly fresh: boolean },
      accept: (instance: RunningInstance) => Effect.Effect<void, E>
    ) => Effect.Effect<RunningInstance, InstanceStartFailed | InstanceHostUnavailable | E>
    /** Returns after the instance has ended, by force after a grace period. Idempotent. Its files stay. */
    readonly stop: (owner: UserId) => Effect.Effect<void, InstanceHostUnavailable>
    /** Stops the instance and deletes its files. */
    readonly remove: (owner: UserId) => Effect.Effect<void, InstanceHostUnavailable>
    /** Deletes the files of all other agents, whether or not the instance runs. Idempotent. */
    readonly removeOtherAgents: (
      owner: UserId,
      kept: ReadonlyArray<AgentId>
    ) => Effect.Effect<void, InstanceHostUnavailable>
    /** Owners of instances or files on this host. */
    readonly listOwners: Effect.Effect<ReadonlyArray<UserId>, InstanceHostUnavailable>
    /**
     * Owners of running instances, and of instances whose start or replacement was interrupted. One request to the host
     * for all.
     */
    readonly listRunning: Effect.Effect<ReadonlyArray<UserId>, InstanceHostUnavailable>
    /** None while the instance is down. */
    readonly inspect: (owner: UserId) => Effect.Effect<Option.Option<RunningInstance>, InstanceHostUnavailable>
    /** Recent log entries of instance and host, even while the instance is down. */
    readonly logs: (owner: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage, InstanceHostUnavailable>
    /** None while the instance is down. */
    readonly stats: (owner: UserId) => Effect.Effect<Option.Option<InstanceStats>, InstanceHostUnavailable>
    /**
     * Unrequested exits since the subscription; includes adopted instances, and those that the driver ends because they
     * hang, fill their disk or flood their log.
     */
    readonly exits: Stream.Stream<InstanceExit>
  }
>() {}
