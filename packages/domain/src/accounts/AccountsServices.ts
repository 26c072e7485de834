import { Layer } from "effect"
import { AccessNotices } from "./access-notices/AccessNotices.ts"
import { ApiKeys } from "./api-keys/ApiKeys.ts"
import { EmailChanges } from "./email-change/EmailChanges.ts"
import { EmailVerifications } from "./email-verification/EmailVerifications.ts"
import { MailedTokens } from "./mailed-tokens/MailedTokens.ts"
import { PasswordChange } from "./password/PasswordChange.ts"
import { PasswordCredentials } from "./password/PasswordCredentials.ts"
import { ProfileSettings } from "./profile/ProfileSettings.ts"
import { Referrals } from "./referrals/Referrals.ts"
import { ExternalAccounts } from "./registration/ExternalAccounts.ts"
import { Registration } from "./registration/Registration.ts"
import { Users } from "./Users.ts"

/** Users and their mailed tokens, for requests and jobs. */
export const users = Layer.merge(Users.Default, MailedTokens.Default)

export const layer = Layer.mergeAll(
  Registration.Default,
  ProfileSettings.Default,
  PasswordChange.Default,
  ApiKeys.Default
).pipe(
  Layer.provideMerge(Layer.mergeAll(EmailVerifications.Default, EmailChanges.Default, ExternalAccounts.Default)),
  Layer.provideMerge(Layer.merge(Referrals.Default, PasswordCredentials.Default)),
  Layer.provideMerge(AccessNotices.Default),
  Layer.provideMerge(users)
)
