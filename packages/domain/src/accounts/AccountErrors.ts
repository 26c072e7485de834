import { Data } from "effect"

export class EmailInvalid extends Data.TaggedError("EmailInvalid")<object> {}
export class EmailAlreadyTaken extends Data.TaggedError("EmailAlreadyTaken")<object> {}
export class DisplayNameInvalid extends Data.TaggedError("DisplayNameInvalid")<object> {}
export class PasswordRejected extends Data.TaggedError("PasswordRejected")<{ readonly reason: string }> {}
export class ReferralCodeInvalid extends Data.TaggedError("ReferralCodeInvalid")<object> {}
export class UserNotFound extends Data.TaggedError("UserNotFound")<object> {}
/** The password given as the present one is not it. */
export class CurrentPasswordIncorrect extends Data.TaggedError("CurrentPasswordIncorrect")<object> {}
