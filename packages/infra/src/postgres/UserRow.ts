import { Email } from "@berth/domain/accounts/Email"
import { Notifications, User, UserId } from "@berth/domain/accounts/User"
import { creditsOfUnits } from "@berth/domain/billing/UnitSplit"
import { Schema } from "effect"
import { StoredPlan } from "./StoredPlan.ts"

/** A row of `users`, the password hash left out. */
export const UserRow = Schema.Struct({
  id: UserId,
  email: Email,
  emailVerifiedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  name: Schema.String,
  plan: StoredPlan,
  creditUnits: Schema.NumberFromString,
  twoFactorEnabled: Schema.Boolean,
  notifications: Notifications,
  referralCode: Schema.String,
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
      credits: creditsOfUnits(row.creditUnits),
      twoFactorEnabled: row.twoFactorEnabled,
      notifications: row.notifications,
      referralCode: row.referralCode,
      createdAt: row.createdAt
    },
    // The row's schema has.
    { disableValidation: true }
  )
