import { Schema } from "effect"
import type { JobRetryPolicy } from "./JobRetryPolicy.ts"

/**
 * `tasks` and `provision` are the queues of the specification. Mail and card events have their own, with slots of their own in
 * every worker, so that no number of other jobs delays them.
 */
export const QueueName = Schema.Literal("tasks", "provision", "mail", "card-events")
export type QueueName = typeof QueueName.Type

/** W3C trace context of what caused the job, so that one trace runs from the request to the job's effects. */
export const TraceParent = Schema.Struct({ traceId: Schema.String, spanId: Schema.String, sampled: Schema.Boolean })
export type TraceParent = typeof TraceParent.Type

/** Largest payload of a job as JSON. Jobs name rows instead of carrying them. */
export const maximumPayloadBytes = 256 * 1024

/** A kind of job: its queue, its name and the shape of its payload. */
export interface JobKind<A, I> {
  readonly queue: QueueName
  readonly name: string
  readonly payload: Schema.Schema<A, I>
  /** Whether one unpublished job of an owner and payload suffices, however often it is appended. */
  readonly isCoalesced?: boolean
  /** Jobs of an owner that take turns apart from the others of the queue, since each can last for a model's turn. */
  readonly lane?: string
  /** `defaultRetryPolicy` when absent. */
  readonly retryPolicy?: JobRetryPolicy
}
