import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { optionalText, payload, SecretText } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { ForgotPasswordLimit, RateLimitExceededBody, ResetPasswordLimit } from "../limits/RateLimits.ts"
import { RecentSignInRequiredBody, SessionAuth } from "../sessions/SessionAuth.ts"
import { EmailInvalidBody, PasswordRejectedBody, UserNotFoundBody } from "../accounts/AccountErrorBodies.ts"
import { BotCheck } from "../accounts/bot-detection/BotCheck.ts"
import { AccountDeletionUnconfirmed, DeletionPasswordIncorrect } from "@berth/domain/recovery/deletion/AccountDeletion"
import { ClaimNoticeNotFound } from "@berth/domain/recovery/claims/ClaimNotices"
import { ResetTokenInvalid } from "@berth/domain/recovery/password-reset/PasswordResets"
import { plainErrorBody } from "../http/ErrorBody.ts"

const AccountDeletionUnconfirmedBody = plainErrorBody(AccountDeletionUnconfirmed, {
  status: 400,
  error: "Deletion unconfirmed",
  message: "Send your password in `password`, or `confirm: true` within 10 minutes of a sign-in."
})
/** 403, since a 401 requires a sign-in, which this user has. */
const DeletionPasswordIncorrectBody = plainErrorBody(DeletionPasswordIncorrect, {
  status: 403,
  error: "Wrong password",
  message: "password: is not your password."
})
const ClaimNoticeNotFoundBody = plainErrorBody(ClaimNoticeNotFound, {
  status: 404,
  error: "No claim notice",
  message: "Your account was not claimed, or you have decided already."
})
const ResetTokenInvalidBody = plainErrorBody(ResetTokenInvalid, {
  status: 400,
  error: "Invalid or expired token",
  message: "token: is no longer valid. Request a new link."
})

const Message = Schema.Struct({ message: Schema.String }).annotations({ identifier: "Message" })

/** Responds equally whether or not the account exists. */
const forgotPassword = HttpApiEndpoint.post("forgotPassword", "/api/auth/forgot-password")
  .setPayload(
    payload({
      email: Schema.String.annotations({ jsonSchema: { type: "string", format: "email" } }),
      turnstileToken: optionalText
    })
  )
  .addSuccess(Message)
  .addError(EmailInvalidBody)
  .middleware(BotCheck)
  .middleware(ForgotPasswordLimit)
  .annotate(OpenApi.Summary, "Request a password reset by mail")

/** Revokes all sessions of the user. */
const resetPassword = HttpApiEndpoint.post("resetPassword", "/api/auth/reset-password")
  .setPayload(payload({ token: SecretText, password: SecretText }))
  .addSuccess(Message)
  .addError(PasswordRejectedBody)
  .addError(ResetTokenInvalidBody)
  .addError(UserNotFoundBody)
  .middleware(ResetPasswordLimit)
  .annotate(OpenApi.Summary, "Set a password with a reset token")

/** Target of a mailed link. Always redirects, with a notice or an error in the query. */
const verifyEmail = HttpApiEndpoint.get("verifyEmail", "/api/auth/verify-email")
  .setUrlParams(Schema.Struct({ token: Schema.optional(Schema.Redacted(Schema.String)) }))
  .addSuccess(Schema.Void, { status: 302 })
  .annotate(OpenApi.Summary, "Confirm an email address by the mailed link")

/** Mails a new link; none for a verified address. */
const sendVerification = HttpApiEndpoint.post("sendVerification", "/api/auth/verify-email")
  .addSuccess(Message)
  .addError(UserNotFoundBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Resend the confirmation of the email address")

/** Deletes the account. Requires the password, or `confirm` within ten minutes after a sign-in. */
const deleteAccount = HttpApiEndpoint.del("deleteAccount", "/api/settings")
  .setPayload(
    payload({
      password: Schema.optionalWith(SecretText, { nullable: true }),
      confirm: Schema.optionalWith(Schema.Boolean, { nullable: true })
    })
  )
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(AccountDeletionUnconfirmedBody)
  .addError(DeletionPasswordIncorrectBody)
  .addError(RecentSignInRequiredBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Delete the account")

/** Returns the time of the account's claim, until the owner has decided on its contents. */
const claimNotice = HttpApiEndpoint.get("claimNotice", "/api/settings/claim")
  .addSuccess(
    Schema.Struct({
      claimedAt: Schema.NullOr(Timestamp).annotations({ description: "Null without an open decision" })
    }).annotations({ identifier: "ClaimNotice" })
  )
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Retrieve the notice of a claimed account")

/** Keeps the contents from before the claim, or schedules the deletion of prompts, settings of agents and memory. */
const settleClaim = HttpApiEndpoint.post("settleClaim", "/api/settings/claim")
  .setPayload(payload({ decision: Schema.Literal("keep", "reset") }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(ClaimNoticeNotFoundBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Keep or reset the contents of a claimed account")

export class RecoveryApi extends HttpApiGroup.make("recovery")
  .add(forgotPassword)
  .add(resetPassword)
  .add(verifyEmail)
  .add(sendVerification)
  .add(deleteAccount)
  .add(claimNotice)
  .add(settleClaim)
  .addError(InternalFailureBody) {}
