import { NotificationPreferences } from "@berth/domain/shared/User"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { optionalText, payload, RequiredSecretText, SecretText } from "../http/Payload.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RegisterLimit, RateLimitExceededBody } from "../limits/RateLimits.ts"
import { AuthenticationRequiredBody, SessionAuth } from "../sessions/SessionAuth.ts"
import {
  AccountFieldsInvalidBody,
  CurrentPasswordIncorrectBody,
  EmailInvalidBody,
  EmailAlreadyTakenBody,
  DisplayNameInvalidBody,
  PasswordRejectedBody,
  ReferralCodeInvalidBody,
  UserNotFoundBody
} from "./AccountErrorBodies.ts"
import { BotCheck } from "./bot-detection/BotCheck.ts"
import { PlanId } from "@berth/domain/shared/PlanId"
import { UserId } from "@berth/domain/shared/UserId"

const RegisteredUser = Schema.Struct({ id: UserId, email: Schema.String, name: Schema.String }).annotations({
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
const AccountSettings = Schema.Struct(settingsFields).annotations({ identifier: "Settings" })
export const AccountSettingsWithNotifications = Schema.Struct({
  ...settingsFields,
  notifications: NotificationPreferences
}).annotations({ identifier: "AccountSettingsWithNotifications" })

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
  .addSuccess(RegisteredUser)
  .addError(EmailInvalidBody)
  .addError(DisplayNameInvalidBody)
  .addError(AccountFieldsInvalidBody)
  .addError(PasswordRejectedBody)
  .addError(ReferralCodeInvalidBody)
  .addError(EmailAlreadyTakenBody)
  .middleware(BotCheck)
  .middleware(RegisterLimit)
  .annotate(OpenApi.Summary, "Register an account")

const settings = HttpApiEndpoint.get("settings", "/api/settings")
  .addSuccess(AccountSettings)
  .addError(UserNotFoundBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Retrieve the account's settings")

/** A new email address is unverified until its mailed link is opened. */
const changeSettings = HttpApiEndpoint.post("changeSettings", "/api/settings")
  .setPayload(payload({ name: optionalText, email: optionalText }))
  .addSuccess(AccountSettings)
  .addError(AuthenticationRequiredBody)
  .addError(EmailInvalidBody)
  .addError(DisplayNameInvalidBody)
  .addError(AccountFieldsInvalidBody)
  .addError(EmailAlreadyTakenBody)
  .addError(UserNotFoundBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Update name or email")

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
  .addSuccess(AccountSettingsWithNotifications)
  .addError(AuthenticationRequiredBody)
  .addError(DisplayNameInvalidBody)
  .addError(AccountFieldsInvalidBody)
  .addError(EmailInvalidBody)
  .addError(EmailAlreadyTakenBody)
  .addError(UserNotFoundBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Update the account's settings")

/** Revokes all other sessions of the user. */
const changePassword = HttpApiEndpoint.post("changePassword", "/api/settings/password")
  .setPayload(payload({ currentPassword: RequiredSecretText, newPassword: RequiredSecretText }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(PasswordRejectedBody)
  .addError(CurrentPasswordIncorrectBody)
  .addError(AuthenticationRequiredBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Change the password")

export class AccountsApi extends HttpApiGroup.make("accounts")
  .add(register)
  .add(settings)
  .add(changeSettings)
  .add(patchSettings)
  .add(changePassword)
  .addError(InternalFailureBody) {}
