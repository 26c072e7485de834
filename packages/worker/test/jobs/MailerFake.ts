import { CardProcessor } from "@berth/domain/billing/checkout/CardProcessor"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { Mailer } from "@berth/domain/mail/Mailer"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { Layer } from "effect"

/** For jobs that have nothing to do with mail, nor with cards. */
export const unusedMailPorts = Layer.mergeAll(
  Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects" }),
  Layer.mock(CardProcessor, {}),
  Layer.mock(Mailer, {}),
  Layer.mock(SecretBox, {}),
  Layer.mock(PasswordResetMails, { _tag: "@berth/PasswordResetMails" })
)
