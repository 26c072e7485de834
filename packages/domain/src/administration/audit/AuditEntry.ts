import { Schema } from "effect"
import { idSchema } from "../../ids/IdGenerator.ts"
import { UserId } from "../../shared/UserId.ts"

const AuditEntryId = idSchema("AuditEntryId", "An entry of the audit log, aud_…")
type AuditEntryId = typeof AuditEntryId.Type

/** A user id, or `command:` and the operating system account that ran the command. */
export const Actor = Schema.String.pipe(Schema.brand("Actor")).annotations({
  identifier: "Actor",
  description: "A user id, or `command:` and an account of the operating system"
})
export type Actor = typeof Actor.Type

export const makeUserActor = (id: UserId): Actor => Actor.make(id)
export const makeCommandActor = (account: string): Actor => Actor.make(`command:${account}`)

export const AuditAction = Schema.Literal(
  "user.read",
  "user.change_plan",
  "user.adjust_credits",
  "user.confirm_email",
  "user.suspend",
  "user.unsuspend",
  "instance.start",
  "instance.stop",
  "instance.restart",
  "instance.repair",
  "queue.pause",
  "queue.resume",
  "queue.replay",
  "queue.discard"
).annotations({
  identifier: "AuditAction"
})
export type AuditAction = typeof AuditAction.Type

/** Fields that an action changed, without secrets. */
export const AuditFields = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Null)
})
export type AuditFields = typeof AuditFields.Type

export const AuditEntry = Schema.Struct({
  id: AuditEntryId,
  actor: Actor,
  action: AuditAction,
  /** User whose account or instance is affected; `queue:` and its name for a queue. */
  userId: UserId,
  reason: Schema.NullOr(Schema.String),
  before: Schema.NullOr(AuditFields),
  after: Schema.NullOr(AuditFields),
  /** Null for an action of a command-line tool. */
  requestId: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromSelf
})
export type AuditEntry = typeof AuditEntry.Type

/** An audit entry with the present addresses of its users; null for commands, queues and deleted accounts. */
export const ListedAuditEntry = Schema.Struct({
  ...AuditEntry.fields,
  actorEmail: Schema.NullOr(Schema.String),
  userEmail: Schema.NullOr(Schema.String)
})
export type ListedAuditEntry = typeof ListedAuditEntry.Type
