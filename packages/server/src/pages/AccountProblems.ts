import {
  AccountFieldsInvalidBody,
  DisplayNameInvalidBody,
  EmailAlreadyTakenBody,
  EmailInvalidBody,
  PasswordRejectedBody,
  ReferralCodeInvalidBody
} from "@berth/api/accounts/AccountErrorBodies"
import type { AccountFieldProblem, AccountFieldsInvalid, EmailAlreadyTaken } from "@berth/domain/accounts/AccountErrors"
import { Match } from "effect"
import { readProblems } from "./FormFields.ts"

/** The status and the problems by field of a refused account. */
export const readAccountProblems = (error: AccountFieldProblem | AccountFieldsInvalid | EmailAlreadyTaken) =>
  Match.valueTags(error, {
    AccountFieldsInvalid: (it) => readProblems(AccountFieldsInvalidBody, it),
    DisplayNameInvalid: (it) => readProblems(DisplayNameInvalidBody, it),
    EmailAlreadyTaken: (it) => readProblems(EmailAlreadyTakenBody, it, "email"),
    EmailInvalid: (it) => readProblems(EmailInvalidBody, it),
    PasswordRejected: (it) => readProblems(PasswordRejectedBody, it),
    ReferralCodeInvalid: (it) => readProblems(ReferralCodeInvalidBody, it)
  })
