import {
  CurrentPasswordIsWrong,
  EmailIsInvalid,
  EmailIsTaken,
  NameIsInvalid,
  PasswordIsRefused,
  ReferralCodeIsInvalid,
  UserIsUnknown
} from "@berth/domain/accounts/AccountErrors"
import { ReauthenticationIsRequired } from "@berth/domain/accounts/AccountDeletionErrors"
import { ResetTokenIsInvalid } from "@berth/domain/accounts/PasswordResets"
import { errorBody } from "../http/ErrorBody.ts"

export const EmailIsInvalidBody = errorBody(EmailIsInvalid, {
  status: 400,
  code: "invalid_email",
  error: "Invalid email",
  message: "email: must be a valid e-mail address.",
  read: () => new EmailIsInvalid()
})
export const EmailIsTakenBody = errorBody(EmailIsTaken, {
  status: 409,
  code: "email_taken",
  error: "Email already in use",
  message: "An account with this e-mail address exists already.",
  read: () => new EmailIsTaken()
})
export const NameIsInvalidBody = errorBody(NameIsInvalid, {
  status: 400,
  code: "invalid_name",
  error: "Invalid name",
  message: "name: must have 1 to 200 characters and no control characters.",
  read: () => new NameIsInvalid()
})
export const PasswordIsRefusedBody = errorBody(PasswordIsRefused, {
  status: 400,
  code: "password_refused",
  error: "Password refused",
  message: ({ reason }) => `password: ${reason}`,
  read: (message) => new PasswordIsRefused({ reason: message.replace(/^password: /, "") })
})
export const ReferralCodeIsInvalidBody = errorBody(ReferralCodeIsInvalid, {
  status: 400,
  code: "invalid_referral_code",
  error: "Invalid referral code",
  message: "referralCode: there is no such referral code.",
  read: () => new ReferralCodeIsInvalid()
})
export const UserIsUnknownBody = errorBody(UserIsUnknown, {
  status: 404,
  code: "user_not_found",
  error: "User not found",
  message: "There is no such user any more.",
  read: () => new UserIsUnknown()
})
export const CurrentPasswordIsWrongBody = errorBody(CurrentPasswordIsWrong, {
  status: 401,
  code: "wrong_password",
  error: "Wrong password",
  message: "currentPassword: is not your password.",
  read: () => new CurrentPasswordIsWrong()
})
export const ReauthenticationIsRequiredBody = errorBody(ReauthenticationIsRequired, {
  status: 401,
  code: "reauthentication_required",
  error: "Reauthentication required",
  message: "This cannot be undone: send your password in `password`, or sign in again and ask within 10 minutes.",
  read: () => new ReauthenticationIsRequired()
})
export const ResetTokenIsInvalidBody = errorBody(ResetTokenIsInvalid, {
  status: 400,
  code: "invalid_reset_token",
  error: "Invalid or expired token",
  message: "token: is not valid any more. Ask for a new link.",
  read: () => new ResetTokenIsInvalid()
})
