import { Notifications, UserId } from "@berth/domain/accounts/User"
import { PlanId } from "@berth/domain/billing/Plan"
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { optionalText, payload, SecretText } from "../http/Payload.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RegisterLimit, TooManyRequestsBody } from "../limits/RateLimits.ts"
import { SessionAuth } from "../sessions/SessionAuth.ts"
import {
  CurrentPasswordIsWrongBody,
  EmailIsInvalidBody,
  EmailIsTakenBody,
  NameIsInvalidBody,
  PasswordIsRefusedBody,
  ReauthenticationIsRequiredBody,
  ReferralCodeIsInvalidBody,
  UserIsUnknownBody
} from "./AccountErrorBodies.ts"
import { BotCheck } from "./BotCheck.ts"

export const Registered = Schema.Struct({ id: UserId, email: Schema.String, name: Schema.String }).annotations({
  identifier: "Registered"
})

const settingsFields = {
  id: UserId,
  email: Schema.String,
  name: Schema.String,
  plan: PlanId,
  credits: Schema.Number,
  twoFactorEnabled: Schema.Boolean
}
export const Settings = Schema.Struct(settingsFields).annotations({ identifier: "Settings" })
export const SettingsWithNotifications = Schema.Struct({
  ...settingsFields,
  notifications: Notifications
}).annotations({ identifier: "SettingsWithNotifications" })

/** POST /api/register */
const register = HttpApiEndpoint.post("register", "/api/register")
  .setPayload(
    payload({
      email: Schema.String,
      password: SecretText,
      name: optionalText,
      referralCode: optionalText,
      turnstileToken: optionalText
    })
  )
  .addSuccess(Registered)
  .addError(EmailIsInvalidBody)
  .addError(NameIsInvalidBody)
  .addError(PasswordIsRefusedBody)
  .addError(ReferralCodeIsInvalidBody)
  .addError(EmailIsTakenBody)
  .middleware(BotCheck)
  .middleware(RegisterLimit)

/** GET /api/settings */
const settings = HttpApiEndpoint.get("settings", "/api/settings")
  .addSuccess(Settings)
  .addError(UserIsUnknownBody)
  .middleware(SessionAuth)

/** POST /api/settings: a new e-mail address is unconfirmed until the link that is mailed there is opened. */
const changeSettings = HttpApiEndpoint.post("changeSettings", "/api/settings")
  .setPayload(payload({ name: optionalText, email: optionalText }))
  .addSuccess(Settings)
  .addError(EmailIsInvalidBody)
  .addError(NameIsInvalidBody)
  .addError(EmailIsTakenBody)
  .addError(UserIsUnknownBody)
  .addError(TooManyRequestsBody)
  .middleware(SessionAuth)

/** PATCH /api/settings */
const patchSettings = HttpApiEndpoint.patch("patchSettings", "/api/settings")
  .setPayload(
    payload({
      name: optionalText,
      notifications: Schema.optionalWith(
        Schema.Struct({
          email: Schema.optionalWith(Schema.Boolean, { exact: true }),
          product: Schema.optionalWith(Schema.Boolean, { exact: true }),
          security: Schema.optionalWith(Schema.Boolean, { exact: true }),
          agentStatus: Schema.optionalWith(Schema.Boolean, { exact: true })
        }),
        { nullable: true }
      )
    })
  )
  .addSuccess(SettingsWithNotifications)
  .addError(NameIsInvalidBody)
  .addError(EmailIsInvalidBody)
  .addError(EmailIsTakenBody)
  .addError(UserIsUnknownBody)
  .addError(TooManyRequestsBody)
  .middleware(SessionAuth)

/** POST /api/settings/password: ends every other session of the user. */
const changePassword = HttpApiEndpoint.post("changePassword", "/api/settings/password")
  .setPayload(payload({ currentPassword: SecretText, newPassword: SecretText }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(PasswordIsRefusedBody)
  .addError(CurrentPasswordIsWrongBody)
  .addError(TooManyRequestsBody)
  .middleware(SessionAuth)

/** DELETE /api/settings: deletes the account and all that is in it, for ever. Wants the password, or a sign-in within the last ten minutes. */
const deleteAccount = HttpApiEndpoint.del("deleteAccount", "/api/settings")
  .setPayload(payload({ password: Schema.optionalWith(SecretText, { nullable: true }) }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(ReauthenticationIsRequiredBody)
  .addError(TooManyRequestsBody)
  .middleware(SessionAuth)

export class AccountsApi extends HttpApiGroup.make("accounts")
  .add(register)
  .add(settings)
  .add(changeSettings)
  .add(patchSettings)
  .add(changePassword)
  .add(deleteAccount)
  .addError(InternalFailureBody) {}
