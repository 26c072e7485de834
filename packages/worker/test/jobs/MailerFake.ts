import { CardProcessor } from "@berth/domain/billing/checkout/CardProcessor"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ClaimedContents } from "@berth/domain/interaction/ClaimedContents"
import { Mailer } from "@berth/domain/mail/Mailer"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { Layer } from "effect"

/** For jobs that use neither mail nor cards nor claimed contents. */
export const unusedMailPorts = Layer.mergeAll(
  Layer.mock(ClaimedContents, { _tag: "@berth/ClaimedContents" }),
  Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects" }),
  Layer.mock(CardProcessor, {}),
  Layer.mock(Mailer, {}),
  Layer.mock(SecretBox, {}),
  Layer.mock(PasswordResetMails, { _tag: "@berth/PasswordResetMails" })
)
