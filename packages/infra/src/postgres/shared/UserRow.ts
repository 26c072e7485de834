import { Email } from "@berth/domain/shared/Email"
import { NotificationPreferences, User } from "@berth/domain/shared/User"
import { convertUnitsToCredits } from "@berth/domain/shared/Money"
import { Schema } from "effect"
import { UnitsColumn } from "./MoneyColumns.ts"
import { StoredPlan } from "./StoredPlan.ts"
import { UserId } from "@berth/domain/shared/UserId"

/** A row of `users` without the password hash. */
export const UserRow = Schema.Struct({
  id: UserId,
  email: Email,
  emailVerifiedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  name: Schema.String,
  plan: StoredPlan,
  creditUnits: UnitsColumn,
  twoFactorEnabled: Schema.Boolean,
  notifications: NotificationPreferences,
  referralCode: Schema.String,
  suspendedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate
})
export type UserRow = typeof UserRow.Type

export const toUser = (row: UserRow): User =>
  new User(
    {
      id: row.id,
      email: row.email,
      emailVerifiedAt: row.emailVerifiedAt,
      name: row.name,
      plan: row.plan,
      credits: convertUnitsToCredits(row.creditUnits),
      twoFactorEnabled: row.twoFactorEnabled,
      notifications: row.notifications,
      referralCode: row.referralCode,
      suspendedAt: row.suspendedAt,
      createdAt: row.createdAt
    },
    // Already validated by the row's schema.
    { disableValidation: true }
  )
