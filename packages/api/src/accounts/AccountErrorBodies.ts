import {
  CurrentPasswordIncorrect,
  EmailInvalid,
  EmailAlreadyTaken,
  DisplayNameInvalid,
  PasswordRejected,
  ReferralCodeInvalid,
  UserNotFound
} from "@berth/domain/accounts/AccountErrors"
import { errorBody } from "../http/ErrorBody.ts"

export const EmailInvalidBody = errorBody(EmailInvalid, {
  status: 400,
  error: "Invalid email",
  message: "email: must be a valid email address.",
  read: () => new EmailInvalid()
})
export const EmailAlreadyTakenBody = errorBody(EmailAlreadyTaken, {
  status: 409,
  error: "Email already in use",
  message: "An account with this email address exists already.",
  read: () => new EmailAlreadyTaken()
})
export const DisplayNameInvalidBody = errorBody(DisplayNameInvalid, {
  status: 400,
  error: "Invalid name",
  message: "name: must have 1 to 200 characters and no control characters.",
  read: () => new DisplayNameInvalid()
})
export const PasswordRejectedBody = errorBody(PasswordRejected, {
  status: 400,
  error: "Password refused",
  message: ({ reason }) => `password: ${reason}`,
  read: (message) => new PasswordRejected({ reason: message.replace(/^password: /, "") })
})
export const ReferralCodeInvalidBody = errorBody(ReferralCodeInvalid, {
  status: 400,
  error: "Invalid referral code",
  message: "referralCode: there is no such referral code.",
  read: () => new ReferralCodeInvalid()
})
export const UserNotFoundBody = errorBody(UserNotFound, {
  status: 404,
  error: "User not found",
  message: "There is no such user any more.",
  read: () => new UserNotFound()
})
export const CurrentPasswordIncorrectBody = errorBody(CurrentPasswordIncorrect, {
  status: 401,
  error: "Wrong password",
  message: "currentPassword: is not your password.",
  read: () => new CurrentPasswordIncorrect()
})
