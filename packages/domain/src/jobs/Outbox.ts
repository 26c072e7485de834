import { Context, Data, type Effect, Schema } from "effect"
import { type JobKind, maximumPayloadBytes, QueueName, TraceParent } from "./JobKind.ts"
import type { UserId } from "../shared/UserId.ts"

/** A job that follows a change, written in the change's transaction. */
export const OutboxEntry = Schema.Struct({
  /** Also the job's id in the queue, so that repeated publication adds one job. */
  id: Schema.String,
  queue: QueueName,
  name: Schema.String,
  payload: Schema.Unknown,
  trace: Schema.NullOr(TraceParent)
})
export type OutboxEntry = typeof OutboxEntry.Type

/** Maximum concurrent jobs of an owner in a queue, which bounds the wait of other owners. */
export const maximumInFlightPerOwner = 4

/** The payload of a job exceeds `maximumPayloadBytes`; a defect of the caller. */
export class JobPayloadTooLarge extends Data.TaggedError("JobPayloadTooLarge")<{
  readonly name: string
  readonly bytes: number
}> {
  override readonly message = `The payload of ${this.name} has ${this.bytes} bytes; at most ${maximumPayloadBytes} are allowed.`
}

export class Outbox extends Context.Tag("@berth/Outbox")<
  Outbox,
  {
    /**
     * Joins the running transaction; stores the current trace. Jobs of an `owner` alternate with those of others. Dies
     * with `JobPayloadTooLarge`.
     */
    readonly append: <A, I>(kind: JobKind<A, I>, payload: A, owner?: UserId) => Effect.Effect<void>
    /**
     * Publishes up to `limit` entries and returns their number. Fair order: each owner's first entry, then each owner's
     * second, oldest first, with at most `maximumInFlightPerOwner` unsettled entries per owner and queue. Concurrent
     * relays never hold the same entry.
     */
    readonly relay: <E, R>(
      limit: number,
      publish: (entry: OutboxEntry) => Effect.Effect<void, E, R>
    ) => Effect.Effect<number, E, R>
    /**
     * Up to `limit` entries with an id above `after`, in order, that were published over five minutes ago and are not
     * settled: their jobs are in progress, or the queue has lost them.
     */
    readonly listUnsettled: (after: string, limit: number) => Effect.Effect<ReadonlyArray<OutboxEntry>>
    /** Frees the owner's slot of a job that completed or became a dead letter. */
    readonly settle: (id: string) => Effect.Effect<void>
    /** Waits until any process appends or settles an entry, at most for the poll interval. */
    readonly awaitAppended: Effect.Effect<void>
    /** Deletes old published entries; returns their number. */
    readonly prune: Effect.Effect<number>
  }
>() {}
