import { CardProcessor } from "@berth/domain/billing/CardProcessor"
import { PasswordResetMails } from "@berth/domain/accounts/PasswordResetMails"
import { Mailer } from "@berth/domain/mail/Mailer"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { Layer } from "effect"

/** For jobs that have nothing to do with mail. */
export const noMail = Layer.mergeAll(
  // Nor do they buy anything.
  Layer.mock(CardProcessor, {}),
  Layer.mock(Mailer, {}),
  Layer.mock(SecretBox, {}),
  Layer.mock(PasswordResetMails, { _tag: "@berth/PasswordResetMails" })
)
