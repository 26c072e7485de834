import { AccountDeletionUnconfirmed, DeletionPasswordIncorrect } from "@berth/domain/recovery/deletion/AccountDeletion"
import { ClaimNoticeNotFound } from "@berth/domain/recovery/claims/ClaimNotices"
import { ResetTokenInvalid } from "@berth/domain/recovery/password-reset/PasswordResets"
import { plainErrorBody } from "../http/ErrorBody.ts"

export const AccountDeletionUnconfirmedBody = plainErrorBody(AccountDeletionUnconfirmed, {
  status: 400,
  error: "Deletion unconfirmed",
  message: "Send your password in `password`, or `confirm: true` within 10 minutes of a sign-in."
})
/** 403, since a 401 would ask a signed-in user to sign in. */
export const DeletionPasswordIncorrectBody = plainErrorBody(DeletionPasswordIncorrect, {
  status: 403,
  error: "Wrong password",
  message: "password: is not your password."
})
export const ClaimNoticeNotFoundBody = plainErrorBody(ClaimNoticeNotFound, {
  status: 404,
  error: "No claim notice",
  message: "Your account was not claimed, or you have decided already."
})
export const ResetTokenInvalidBody = plainErrorBody(ResetTokenInvalid, {
  status: 400,
  error: "Invalid or expired token",
  message: "token: is no longer valid. Request a new link."
})
