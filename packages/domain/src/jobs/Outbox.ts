import { Context, type Effect, Schema } from "effect"
import { type JobKind, QueueName, TraceParent } from "./Job.ts"

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

export class Outbox extends Context.Tag("@berth/Outbox")<
  Outbox,
  {
    /** Joins the running transaction; carries the current trace. */
    readonly append: <A, I>(kind: JobKind<A, I>, payload: A) => Effect.Effect<void>
    /** Hands up to `limit` unpublished entries, oldest first, to `publish` and marks them published when it succeeds. Two relays never hold the same entry. Answers how many. */
    readonly relay: <E, R>(
      limit: number,
      publish: (entry: OutboxEntry) => Effect.Effect<void, E, R>
    ) => Effect.Effect<number, E, R>
    /** Waits until something was appended, by any process, or `atMost` has passed. */
    readonly awaitAppended: Effect.Effect<void>
    /** Deletes entries published before the given age; answers how many. */
    readonly prune: Effect.Effect<number>
  }
>() {}
