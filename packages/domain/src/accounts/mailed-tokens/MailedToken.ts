import { Duration } from "effect"
import type { Email } from "../../shared/Email.ts"
import type { UserId } from "../../shared/User.ts"

/** What the link with a token in it is for. */
export type MailedTokenPurpose = "password-reset" | "email-verification"

/** A token that was mailed to a user. The token itself is never stored, only its hash. A user has one of each purpose. */
export interface MailedToken {
  readonly userId: UserId
  readonly purpose: MailedTokenPurpose
  /** Names what asked for it. These ids sort by time, so that of two the later one counts, in whatever order they are carried out. */
  readonly requestId: string
  readonly tokenHash: string
  /** Where it was mailed. */
  readonly email: Email
}

export const mailedTokenLifetimes: Record<MailedTokenPurpose, Duration.Duration> = {
  "password-reset": Duration.hours(1),
  "email-verification": Duration.hours(24)
}
