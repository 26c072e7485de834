import { Schema } from "effect"
import type { JobRetryPolicy } from "./JobRetryPolicy.ts"

/**
 * `tasks` and `provision` are the queues of the specification. Mail and card events have separate queues with separate
 * slots in every worker, so that other jobs never delay them.
 */
export const QueueName = Schema.Literal("tasks", "provision", "mail", "card-events")
export type QueueName = typeof QueueName.Type

/** W3C trace context of the job's cause, so that one trace covers the request and the job's effects. */
export const TraceParent = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  sampled: Schema.Boolean
})
export type TraceParent = typeof TraceParent.Type

/** Maximum payload of a job as JSON. Jobs reference rows instead of containing them. */
export const maximumPayloadBytes = 256 * 1024

export interface JobKind<A, I> {
  readonly queue: QueueName
  readonly name: string
  readonly payload: Schema.Schema<A, I>
  /** Whether equal unpublished jobs of an owner are coalesced into one. */
  readonly isCoalesced?: boolean
  /** Jobs of an owner with separate turns from the rest of the queue, since each can last for a model's turn. */
  readonly lane?: string
  /** Default: `defaultRetryPolicy`. */
  readonly retryPolicy?: JobRetryPolicy
}

export const defineJob = <A, I>(kind: JobKind<A, I>): JobKind<A, I> => kind
