import {
  AccountFieldsInvalid,
  CurrentPasswordIncorrect,
  EmailInvalid,
  EmailAlreadyTaken,
  DisplayNameInvalid,
  PasswordRejected,
  ReferralCodeInvalid,
  UserNotFound
} from "@berth/domain/accounts/AccountErrors"
import { Schema } from "effect"
import { errorBody, fieldsErrorBody, plainErrorBody } from "../http/ErrorBody.ts"

export const EmailInvalidBody = plainErrorBody(EmailInvalid, {
  status: 400,
  error: "Invalid email",
  message: "email: must be a valid email address."
})
export const EmailAlreadyTakenBody = plainErrorBody(EmailAlreadyTaken, {
  status: 409,
  error: "Email already in use",
  message: "An account with this email address exists already."
})
export const DisplayNameInvalidBody = plainErrorBody(DisplayNameInvalid, {
  status: 400,
  error: "Invalid name",
  message: "name: must have 1 to 200 characters and no control characters."
})
export const PasswordRejectedBody = errorBody(PasswordRejected, {
  status: 400,
  error: "Password refused",
  message: ({ field = "password", reason }) => `${field}: ${reason}`,
  example: new PasswordRejected({ reason: "must have at least 8 characters." }),
  read: (message) => new PasswordRejected({ reason: message.replace(/^\w+: /, "") })
})
export const ReferralCodeInvalidBody = plainErrorBody(ReferralCodeInvalid, {
  status: 400,
  error: "Invalid referral code",
  message: "referralCode: there is no such referral code."
})

const FieldProblem = Schema.Union(
  EmailInvalidBody,
  DisplayNameInvalidBody,
  PasswordRejectedBody,
  ReferralCodeInvalidBody
)
const encodeProblem = Schema.encodeSync(FieldProblem)
/** Each problem has the same body as alone. */
export const AccountFieldsInvalidBody = fieldsErrorBody(AccountFieldsInvalid, {
  status: 400,
  error: "Invalid fields",
  message: ({ problems }) => problems.map((problem) => encodeProblem(problem).message).join(" "),
  members: Schema.Struct({ problems: Schema.Array(FieldProblem) }),
  example: {
    problems: [new EmailInvalid(), new PasswordRejected({ reason: "must have at least 8 characters" })]
  }
})
export const UserNotFoundBody = plainErrorBody(UserNotFound, {
  status: 404,
  error: "User not found",
  message: "The user no longer exists."
})
export const CurrentPasswordIncorrectBody = plainErrorBody(CurrentPasswordIncorrect, {
  status: 401,
  error: "Wrong password",
  message: "currentPassword: is not your password."
})
