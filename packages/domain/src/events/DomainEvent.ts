import { Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { MessagingPlatform } from "../shared/Channel.ts"
import { UserId } from "../shared/UserId.ts"

const event = <Kind extends string, Fields extends Schema.Struct.Fields>(
  kind: Kind,
  description: string,
  fields: Fields
) => Schema.Struct({ kind: Schema.Literal(kind), data: Schema.Struct(fields) }).annotations({ description })

const account = { userId: UserId, email: Schema.String, name: Schema.String, plan: Schema.String }

const UserCreated = event("user.created", "A user registered, by any way to sign in or by provisioning.", account)
const UserUpdated = event("user.updated", "A user changed the profile.", {
  ...account,
  changed: Schema.Array(Schema.Literal("name", "email", "notifications"))
})
const UserDeleted = event("user.deleted", "An account was deleted.", { userId: UserId })

const AgentStatusChanged = event("agent.status", "The status of an agent changed.", {
  agentId: AgentId,
  name: Schema.String,
  status: Schema.String,
  previousStatus: Schema.String
})
const AgentVerificationLost = event("agent.verification_lost", "A verification of an agent holds no longer.", {
  agentId: AgentId,
  verificationType: Schema.String,
  reason: Schema.String
})
const ScheduleMissed = event("schedule.missed", "A schedule did not run at its time.", {
  agentId: AgentId,
  scheduleId: Schema.String,
  dueAt: Schema.DateTimeUtc,
  reason: Schema.String
})
const BudgetReached = event(
  "budget.reached",
  "Units and credits did not cover a request, at most once per UTC day; or a budget did not, at most once per its period.",
  {
    remainingUnits: Schema.Number,
    requiredUnits: Schema.Number
  }
)
const ChannelBroken = event("channel.broken", "A messaging channel of an agent stopped working.", {
  agentId: AgentId,
  platform: MessagingPlatform,
  state: Schema.Literal("refused", "unreachable"),
  reason: Schema.NullOr(Schema.String)
})

/** A change reported to subscribers outside this service. `data` contains no secrets. */
export const DomainEvent = Schema.Union(
  UserCreated,
  UserUpdated,
  UserDeleted,
  AgentStatusChanged,
  AgentVerificationLost,
  ScheduleMissed,
  BudgetReached,
  ChannelBroken
)
export type DomainEvent = typeof DomainEvent.Type

export const DomainEventKind = Schema.Literal(
  ...DomainEvent.members.map(({ fields }) => fields.kind.literals[0])
).annotations({
  identifier: "DomainEventKind"
})
export type DomainEventKind = DomainEvent["kind"]

/** An event in its stored encoding. Its kind may belong to a newer version. */
export const StoredEvent = Schema.Struct({ kind: Schema.String, data: Schema.Unknown })
export type StoredEvent = typeof StoredEvent.Type

/** Events of accounts are delivered to administrators, all others to the owner of their subject. */
export const isForAdministrators = (kind: string): boolean => kind.startsWith("user.")
