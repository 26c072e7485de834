import { type AccountPolicy, isSyntheticEmail } from "@berth/domain/accounts/AccountPolicy"
import type { User } from "@berth/domain/shared/User"
import type { Context } from "effect"

/** `unconfirmed`: the address waits for its confirmation. `missing`: the units of the free plan need an address. */
export type EmailNotice = "unconfirmed" | "missing"

/** The notice about a user's email address; null where nothing is to be done. */
export const findEmailNotice = (user: User, policy: Context.Tag.Service<AccountPolicy>): EmailNotice | null => {
  if (user.emailVerifiedAt !== null) return null
  if (!isSyntheticEmail(user.email, policy)) return "unconfirmed"
  return policy.verifiedEmailsOnly && user.plan === "free" ? "missing" : null
}
