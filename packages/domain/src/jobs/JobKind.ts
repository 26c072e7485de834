import { Schema } from "effect"
import { UserId } from "../shared/User.ts"
import { AgentId } from "../agents/Agent.ts"
import { CustomerId } from "../billing/checkout/CardProcessor.ts"
import { MailId } from "../mail/Mail.ts"

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
}

/** Provision an agent: bring its cell up with it. */
export const ProvisionAgentJob = {
  queue: "provision",
  name: "new-agent",
  payload: Schema.Struct({ agentId: AgentId })
} as const satisfies JobKind<{ readonly agentId: AgentId }, { readonly agentId: string }>

/** Tell an owner's cell what his agents are by now. */
export const ReconfigureInstanceJob = {
  queue: "tasks",
  name: "reconfigure-instance",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>

/** Delete what an account that its owner gave up still has: its rows, its cell and its files. */
export const RemoveAccountJob = {
  queue: "tasks",
  name: "remove-account",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>

/** End what an account that its owner gave up pays by card. It names customers, since the account is gone by then. */
export const RemoveCardCustomersJob = {
  queue: "tasks",
  name: "forget-card-customers",
  payload: Schema.Struct({ customerIds: Schema.Array(CustomerId) })
} as const satisfies JobKind<
  { readonly customerIds: ReadonlyArray<CustomerId> },
  { readonly customerIds: ReadonlyArray<string> }
>

/** Hand a mail on. It is sealed, since it may hold a link that opens an account. */
export const SendMailJob = {
  queue: "tasks",
  name: "send-mail",
  payload: Schema.Struct({ mailId: MailId, sealed: Schema.String })
} as const satisfies JobKind<
  { readonly mailId: MailId; readonly sealed: string },
  { readonly mailId: string; readonly sealed: string }
>

/** Somebody says that he forgot the password of this address. Whether it is anybody's is looked at by the worker only. */
export const SendPasswordResetJob = {
  queue: "tasks",
  name: "forgotten-password",
  payload: Schema.Struct({ email: Schema.String })
} as const satisfies JobKind<{ readonly email: string }, { readonly email: string }>

/** Let an event of the card processor have its effects. */
export const ApplyCardEventJob = {
  queue: "tasks",
  name: "apply-card-event",
  payload: Schema.Struct({ eventId: Schema.String })
} as const satisfies JobKind<{ readonly eventId: string }, { readonly eventId: string }>

/** An address has become a user's: whoever paid by card under it may be he. */
export const MatchCardEventsJob = {
  queue: "tasks",
  name: "match-card-events",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>
