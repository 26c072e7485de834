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
import { readRefusedForm } from "./FormFields.ts"

/** Returns the status and the problems by field of a rejected account. */
export const readAccountProblems = (error: AccountFieldProblem | AccountFieldsInvalid | EmailAlreadyTaken) =>
  Match.valueTags(error, {
    AccountFieldsInvalid: (it) => readRefusedForm(AccountFieldsInvalidBody, it),
    DisplayNameInvalid: (it) => readRefusedForm(DisplayNameInvalidBody, it),
    EmailAlreadyTaken: (it) => readRefusedForm(EmailAlreadyTakenBody, it),
    EmailInvalid: (it) => readRefusedForm(EmailInvalidBody, it),
    PasswordRejected: (it) => readRefusedForm(PasswordRejectedBody, it),
    ReferralCodeInvalid: (it) => readRefusedForm(ReferralCodeInvalidBody, it)
  })
