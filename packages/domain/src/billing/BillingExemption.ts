import type { Context } from "effect"
import type { Administrators } from "../accounts/Administrators.ts"
import type { User } from "../shared/User.ts"

/** Administrators pay for nothing: no subscription, no units and no plan limits. */
export const isBillingExempt = (administrators: Context.Tag.Service<Administrators>, user: User): boolean =>
  administrators.includes(user)
