import type { EmailNotice } from "@berth/api/pages/ConsoleSettings"
import { type AccountPolicy, isSyntheticEmail } from "@berth/domain/accounts/AccountPolicy"
import type { User } from "@berth/domain/shared/User"
import type { Context } from "effect"

/** Returns the notice about a user's email address; null if no action is required. */
export const findEmailNotice = (user: User, policy: Context.Tag.Service<AccountPolicy>): EmailNotice | null => {
  if (user.emailVerifiedAt !== null) return null
  if (!isSyntheticEmail(user.email, policy)) return "unconfirmed"
  return policy.verifiedEmailsOnly && user.plan === "free" ? "missing" : null
}
