import { Duration } from "effect"
import type { Email } from "../../shared/Email.ts"
import type { UserId } from "../../shared/UserId.ts"

export type MailedTokenPurpose = "password-reset" | "email-verification" | "email-change-undo"

export interface MailedToken {
  readonly userId: UserId
  readonly purpose: MailedTokenPurpose
  /** Time-ordered id of the request: the later request wins, in any order of processing. */
  readonly requestId: string
  readonly tokenHash: string
  readonly email: Email
}

export const mailedTokenLifetimes: Record<MailedTokenPurpose, Duration.Duration> = {
  "password-reset": Duration.hours(1),
  "email-verification": Duration.hours(24),
  "email-change-undo": Duration.days(7)
}
