import { Data } from "effect"

/** The request has no valid session. */
export class AuthenticationRequired extends Data.TaggedError("AuthenticationRequired")<object> {}
/** An administrator has suspended the account, which cannot open sessions. */
export class AccountSuspended extends Data.TaggedError("AccountSuspended")<object> {}
export class SignInSessionNotFound extends Data.TaggedError("SignInSessionNotFound")<object> {}
