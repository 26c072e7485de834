import { Context, Data, type DateTime, type Effect, type Option, type Redacted, type Stream } from "effect"
import type { UserId } from "../accounts/User.ts"

/** What a cell is made of. Nothing in it is a secret of the platform: the token is the cell's own. */
export interface CellSpec {
  readonly owner: UserId
  readonly memoryMb: number
  readonly token: Redacted.Redacted
  /** Base address of the backend API as the cell reaches it. */
  readonly backendUrl: string
}

/** A cell that is up. */
export interface Cell {
  readonly owner: UserId
  /** Base address of the cell's own HTTP listener, for the backend only. */
  readonly endpoint: string
  readonly startedAt: DateTime.Utc
  readonly runtimeVersion: string
}

/** A cell that ended without being asked to. */
export interface CellExit {
  readonly owner: UserId
  readonly reason: string
}

export class CellDidNotStart extends Data.TaggedError("CellDidNotStart")<{
  readonly owner: UserId
  readonly reason: string
}> {}

/** Makes and ends cells on one kind of host: child process, container or pod. Calls for one owner never overlap; calls for different owners do. */
export class InstanceDriver extends Context.Tag("@berth/InstanceDriver")<
  InstanceDriver,
  {
    /** Up and answering its health check when this returns. A cell that is up already (also one left by an earlier backend) is adopted, not doubled. */
    readonly start: (spec: CellSpec) => Effect.Effect<Cell, CellDidNotStart>
    /** Gone when this returns, by force after a grace period; a cell that is not there is no error. State in its directory stays. */
    readonly stop: (owner: UserId) => Effect.Effect<void>
    /** Stops the cell and deletes its directory. */
    readonly remove: (owner: UserId) => Effect.Effect<void>
    /** The cell if it is up now. */
    readonly inspect: (owner: UserId) => Effect.Effect<Option.Option<Cell>>
    /** Deaths nobody asked for, from the moment of subscription; also of adopted cells. */
    readonly exits: Stream.Stream<CellExit>
  }
>() {}
