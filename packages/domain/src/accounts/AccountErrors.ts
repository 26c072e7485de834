import { Data } from "effect"

export class EmailIsInvalid extends Data.TaggedError("EmailIsInvalid")<object> {}
export class EmailIsTaken extends Data.TaggedError("EmailIsTaken")<object> {}
export class NameIsInvalid extends Data.TaggedError("NameIsInvalid")<object> {}
export class PasswordIsRefused extends Data.TaggedError("PasswordIsRefused")<{ readonly reason: string }> {}
export class ReferralCodeIsInvalid extends Data.TaggedError("ReferralCodeIsInvalid")<object> {}
export class UserIsUnknown extends Data.TaggedError("UserIsUnknown")<object> {}
/** The password given as the present one is not it. */
export class CurrentPasswordIsWrong extends Data.TaggedError("CurrentPasswordIsWrong")<object> {}
