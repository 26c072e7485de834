import { Data } from "effect"

export class EmailInvalid extends Data.TaggedError("EmailInvalid")<object> {}
export class EmailAlreadyTaken extends Data.TaggedError("EmailAlreadyTaken")<object> {}
export class DisplayNameInvalid extends Data.TaggedError("DisplayNameInvalid")<object> {}
export class PasswordRejected extends Data.TaggedError("PasswordRejected")<{ readonly reason: string }> {}
export class ReferralCodeInvalid extends Data.TaggedError("ReferralCodeInvalid")<object> {}
export class UserNotFound extends Data.TaggedError("UserNotFound")<object> {}
export class CurrentPasswordIncorrect extends Data.TaggedError("CurrentPasswordIncorrect")<object> {}
/** Another transaction holds rows of the account; the deletion is retried. */
export class AccountInUse extends Data.TaggedError("AccountInUse")<object> {}
