import { Context, type Effect, Schema } from "effect"
import { type JobKind, QueueName, TraceParent } from "./JobKind.ts"
import type { UserId } from "../shared/UserId.ts"

/** A job that must follow a change, written in the change's transaction. */
export const OutboxEntry = Schema.Struct({
  /** Also the job's id in the queue, so that publishing twice adds one job. */
  id: Schema.String,
  queue: QueueName,
  name: Schema.String,
  payload: Schema.Unknown,
  trace: Schema.NullOr(TraceParent)
})
export type OutboxEntry = typeof OutboxEntry.Type

/**
 * How many jobs of one owner may be in a queue at once: enough to keep several workers busy, and few enough that whoever comes
 * after a tenant with hundreds waits for a handful.
 */
export const maximumInFlightPerOwner = 4

export class Outbox extends Context.Tag("@berth/Outbox")<
  Outbox,
  {
    /** Joins the running transaction; carries the current trace. `owner` is the tenant whose turn the job takes. */
    readonly append: <A, I>(kind: JobKind<A, I>, payload: A, owner?: UserId) => Effect.Effect<void>
    /**
     * Hands up to `limit` unpublished entries to `publish` and marks them published when it succeeds: each owner's first before
     * anybody's second, oldest first, and of one owner and queue no more than `inFlightPerOwner` that are not settled. Two relays
     * never hold the same entry. Answers how many.
     */
    readonly relay: <E, R>(
      limit: number,
      publish: (entry: OutboxEntry) => Effect.Effect<void, E, R>
    ) => Effect.Effect<number, E, R>
    /** The job of an entry was done or given up, which makes room for its owner's next one. */
    readonly settle: (id: string) => Effect.Effect<void>
    /** Waits until something was appended or settled, by any process, or `atMost` has passed. */
    readonly awaitAppended: Effect.Effect<void>
    /** Deletes entries published before the given age; answers how many. */
    readonly prune: Effect.Effect<number>
  }
>() {}
