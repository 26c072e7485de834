import { Data } from "effect"

/** The request shows no session, or one that is not (any more) valid. */
export class AuthenticationRequired extends Data.TaggedError("AuthenticationRequired")<object> {}
/** The user has no such session. */
export class SignInSessionNotFound extends Data.TaggedError("SignInSessionNotFound")<object> {}
