import type { Context } from "effect"
import type { Administrators } from "../accounts/Administrators.ts"
import type { User } from "../shared/User.ts"

/** Administrators are exempt from subscriptions, units and plan limits. */
export const isBillingExempt = (administrators: Context.Tag.Service<Administrators>, user: User): boolean =>
  administrators.includes(user)
