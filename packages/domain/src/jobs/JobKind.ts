import { Schema } from "effect"

/** The two queues of the specification. */
export const QueueName = Schema.Literal("tasks", "provision")
export type QueueName = typeof QueueName.Type

/** W3C trace context of what caused the job, so that one trace runs from the request to the job's effects. */
export const TraceParent = Schema.Struct({ traceId: Schema.String, spanId: Schema.String, sampled: Schema.Boolean })
export type TraceParent = typeof TraceParent.Type

/** A kind of job: its queue, its name and the shape of its payload. */
export interface JobKind<A, I> {
  readonly queue: QueueName
  readonly name: string
  readonly payload: Schema.Schema<A, I>
  /** Whether one unpublished job of an owner and payload suffices, however often it is appended. */
  readonly isCoalesced?: boolean
}
