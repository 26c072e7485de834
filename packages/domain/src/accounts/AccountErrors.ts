import { Array, Data, Either } from "effect"

export class EmailInvalid extends Data.TaggedError("EmailInvalid")<object> {}
export class EmailAlreadyTaken extends Data.TaggedError("EmailAlreadyTaken")<object> {}
export class DisplayNameInvalid extends Data.TaggedError("DisplayNameInvalid")<object> {}
export class PasswordRejected extends Data.TaggedError("PasswordRejected")<{
  readonly reason: string
  /** Default: `password`. */
  readonly field?: "newPassword"
}> {}
export class ReferralCodeInvalid extends Data.TaggedError("ReferralCodeInvalid")<object> {}
export type AccountFieldProblem = EmailInvalid | DisplayNameInvalid | PasswordRejected | ReferralCodeInvalid
/** Two or more invalid fields of one request. */
export class AccountFieldsInvalid extends Data.TaggedError("AccountFieldsInvalid")<{
  readonly problems: ReadonlyArray<AccountFieldProblem>
}> {}
export class UserNotFound extends Data.TaggedError("UserNotFound")<object> {}
export class CurrentPasswordIncorrect extends Data.TaggedError("CurrentPasswordIncorrect")<object> {}
/** Another transaction holds rows of the account; the deletion is retried. */
export class AccountInUse extends Data.TaggedError("AccountInUse")<object> {}

/** Returns all fields, or all of their problems. */
export const requireFields = <const Fields extends Record<string, Either.Either<unknown, AccountFieldProblem>>>(
  fields: Fields
) => {
  const problems = Array.getLefts(Object.values(fields))
  return problems.length > 1 ? Either.left(new AccountFieldsInvalid({ problems })) : Either.all(fields)
}
