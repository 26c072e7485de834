import { AccountDeletionUnconfirmed, DeletionPasswordIncorrect } from "@berth/domain/recovery/deletion/AccountDeletion"
import { ClaimNoticeNotFound } from "@berth/domain/recovery/claims/ClaimNotices"
import { ResetTokenInvalid } from "@berth/domain/recovery/password-reset/PasswordResets"
import { errorBody } from "../http/ErrorBody.ts"

export const AccountDeletionUnconfirmedBody = errorBody(AccountDeletionUnconfirmed, {
  status: 400,
  error: "Deletion unconfirmed",
  message: "Send your password in `password`, or `confirm: true` within 10 minutes of a sign-in.",
  read: () => new AccountDeletionUnconfirmed()
})
/** 403: a 401 would ask a signed-in user to sign in. */
export const DeletionPasswordIncorrectBody = errorBody(DeletionPasswordIncorrect, {
  status: 403,
  error: "Wrong password",
  message: "password: is not your password.",
  read: () => new DeletionPasswordIncorrect()
})
export const ClaimNoticeNotFoundBody = errorBody(ClaimNoticeNotFound, {
  status: 404,
  error: "No claim notice",
  message: "Your account was not claimed, or you have decided already.",
  read: () => new ClaimNoticeNotFound()
})
export const ResetTokenInvalidBody = errorBody(ResetTokenInvalid, {
  status: 400,
  error: "Invalid or expired token",
  message: "token: is no longer valid. Request a new link.",
  read: () => new ResetTokenInvalid()
})
