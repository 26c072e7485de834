import { Schema } from "effect"
import { Email } from "./Email.ts"
import { PlanId } from "./PlanId.ts"
import { UserId } from "./UserId.ts"

export const NotificationPreferences = Schema.Struct({
  email: Schema.Boolean,
  product: Schema.Boolean,
  security: Schema.Boolean,
  agentStatus: Schema.Boolean
}).annotations({ identifier: "Notifications" })
export type NotificationPreferences = typeof NotificationPreferences.Type

export const defaultNotificationPreferences: NotificationPreferences = {
  email: true,
  product: false,
  security: true,
  agentStatus: true
}

export class User extends Schema.Class<User>("User")({
  id: UserId,
  email: Email,
  emailVerifiedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  name: Schema.String,
  plan: PlanId,
  credits: Schema.Number.pipe(Schema.brand("Credits")),
  twoFactorEnabled: Schema.Boolean,
  notifications: NotificationPreferences,
  referralCode: Schema.String,
  /** Time of the suspension by an administrator; null for an active account. */
  suspendedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  createdAt: Schema.DateTimeUtcFromSelf
}) {}

export const summarizeUser = ({ email, id, name, plan }: User) => ({ userId: id, email, name, plan })
