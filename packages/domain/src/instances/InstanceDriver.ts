import { Context, Data, type DateTime, type Effect, type Option, type Redacted, type Stream } from "effect"
import type { RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"
import type { InstanceStats } from "./InstanceStats.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** The specification of an instance. Its token is the only secret, and its own. */
export interface InstanceSpec {
  readonly owner: UserId
  readonly memoryMb: number
  /** Cores. The process driver does not limit them. */
  readonly cpus: number
  readonly diskMb: number
  readonly token: Redacted.Redacted
  /** Base address of the backend API as the instance reaches it. */
  readonly backendUrl: string
}

export interface RunningInstance {
  readonly owner: UserId
  /** Address of the runtime's HTTP listener, for the backend only. */
  readonly endpoint: string
  readonly startedAt: DateTime.Utc
  readonly runtimeVersion: string
}

/** An exit that was not requested. */
export interface InstanceExit {
  readonly owner: UserId
  readonly reason: string
}

export class InstanceStartFailed extends Data.TaggedError("InstanceStartFailed")<{
  readonly owner: UserId
  readonly reason: string
}> {
  override get message() {
    return this.reason
  }
}

/** The host itself cannot be used now; the instance is not at fault and may still run. */
export class InstanceHostUnavailable extends Data.TaggedError("InstanceHostUnavailable")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** Starts and stops instances on one kind of host: child process, container or pod. Calls for one owner never overlap. */
export class InstanceDriver extends Context.Tag("@berth/InstanceDriver")<
  InstanceDriver,
  {
    /**
     * Returns when the instance passes its health check. Adopts a running one, also of an earlier backend. Keeps the owner's
     * runtime version while that is installed.
     */
    readonly start: (
      spec: InstanceSpec
    ) => Effect.Effect<RunningInstance, InstanceStartFailed | InstanceHostUnavailable>
    /**
     * Replaces the instance by one of the newest version, which stays once `accept` succeeds; else no instance is left and the
     * next start runs the version before. `fresh` first removes all files but the agents'.
     */
    readonly update: <E>(
      spec: InstanceSpec,
      options: { readonly fresh: boolean },
      accept: (instance: RunningInstance) => Effect.Effect<void, E>
    ) => Effect.Effect<RunningInstance, InstanceStartFailed | InstanceHostUnavailable | E>
    /** Returns when the instance has ended, by force after a grace period. Idempotent. Its files stay. */
    readonly stop: (owner: UserId) => Effect.Effect<void, InstanceHostUnavailable>
    /** Stops the instance and deletes its files. */
    readonly remove: (owner: UserId) => Effect.Effect<void, InstanceHostUnavailable>
    /** Deletes the files of all agents but these, whether the instance is up or down. Idempotent. */
    readonly removeOtherAgents: (
      owner: UserId,
      kept: ReadonlyArray<AgentId>
    ) => Effect.Effect<void, InstanceHostUnavailable>
    /** The owners of instances or files on this host. */
    readonly listOwners: Effect.Effect<ReadonlyArray<UserId>, InstanceHostUnavailable>
    /** The owners of instances that run, or whose start or replacement was cut off. One request to the host for all. */
    readonly listRunning: Effect.Effect<ReadonlyArray<UserId>, InstanceHostUnavailable>
    /** None while the instance is down. */
    readonly inspect: (owner: UserId) => Effect.Effect<Option.Option<RunningInstance>, InstanceHostUnavailable>
    /** The recent log entries of instance and host, also while the instance is down. */
    readonly logs: (owner: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage, InstanceHostUnavailable>
    /** None while the instance is down. */
    readonly stats: (owner: UserId) => Effect.Effect<Option.Option<InstanceStats>, InstanceHostUnavailable>
    /**
     * Exits that were not requested, from the subscription on; also of adopted instances, and of those that the driver ends
     * because they hang, fill their disk or flood their log.
     */
    readonly exits: Stream.Stream<InstanceExit>
  }
>() {}
