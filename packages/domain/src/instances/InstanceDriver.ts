import { Context, Data, type DateTime, type Effect, type Option, type Redacted, type Stream } from "effect"
import type { RuntimeLogPage, RuntimeLogQuery } from "./RuntimeLog.ts"
import type { InstanceStats } from "./InstanceStats.ts"
import type { UserId } from "../shared/UserId.ts"

/** What a cell is made of. Nothing in it is a secret of the platform: the token is the cell's own. */
export interface InstanceSpec {
  readonly owner: UserId
  readonly memoryMb: number
  /** What its directory may hold. */
  readonly diskMb: number
  readonly token: Redacted.Redacted
  /** Base address of the backend API as the cell reaches it. */
  readonly backendUrl: string
}

/** A cell that is up. */
export interface RunningInstance {
  readonly owner: UserId
  /** Base address of the cell's own HTTP listener, for the backend only. */
  readonly endpoint: string
  readonly startedAt: DateTime.Utc
  readonly runtimeVersion: string
}

/** A cell that ended without being asked to. */
export interface InstanceExit {
  readonly owner: UserId
  readonly reason: string
}

export class InstanceStartFailed extends Data.TaggedError("InstanceStartFailed")<{
  readonly owner: UserId
  readonly reason: string
}> {}

/** Makes and ends cells on one kind of host: child process, container or pod. Calls for one owner never overlap; calls for different owners do. */
export class InstanceDriver extends Context.Tag("@berth/InstanceDriver")<
  InstanceDriver,
  {
    /**
     * Up and answering its health check when this returns. A cell that is up already (also one left by an earlier backend) is
     * adopted, not doubled. It runs the version of the runtime that the owner's cell ran before; the newest when that is gone.
     */
    readonly start: (spec: InstanceSpec) => Effect.Effect<RunningInstance, InstanceStartFailed>
    /**
     * Replaces the cell, if there is one, by one of the newest version; `fresh` clears its directory before of
     * everything but the files of its agents. The new version is kept from the moment `accept` succeeds. When it does not come up, or is not accepted, no cell is left, and the next
     * start runs the version before.
     */
    readonly update: <E>(
      spec: InstanceSpec,
      options: { readonly fresh: boolean },
      accept: (cell: RunningInstance) => Effect.Effect<void, E>
    ) => Effect.Effect<RunningInstance, InstanceStartFailed | E>
    /** Gone when this returns, by force after a grace period; a cell that is not there is no error. State in its directory stays. */
    readonly stop: (owner: UserId) => Effect.Effect<void>
    /** Stops the cell and deletes its directory. */
    readonly remove: (owner: UserId) => Effect.Effect<void>
    /** Everybody who has anything on this host, a cell or only files. */
    readonly listOwners: Effect.Effect<ReadonlyArray<UserId>>
    /** The cell if it is up now. */
    readonly inspect: (owner: UserId) => Effect.Effect<Option.Option<RunningInstance>>
    /** What the cell and the host said lately, also when the cell is down. */
    readonly logs: (owner: UserId, query: RuntimeLogQuery) => Effect.Effect<RuntimeLogPage>
    /** None for a cell that is down. */
    readonly stats: (owner: UserId) => Effect.Effect<Option.Option<InstanceStats>>
    /**
     * Deaths nobody asked for, from the moment of subscription; also of adopted cells. A cell that stops answering, fills its
     * disk or floods its log is ended by the driver, which is such a death.
     */
    readonly exits: Stream.Stream<InstanceExit>
  }
>() {}
