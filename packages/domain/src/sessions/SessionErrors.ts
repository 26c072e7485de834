import { Data } from "effect"

/** The request shows no session, or one that is not (any more) valid. */
export class NotSignedIn extends Data.TaggedError("NotSignedIn")<object> {}
/** The user has no such session. */
export class SignInSessionIsUnknown extends Data.TaggedError("SignInSessionIsUnknown")<object> {}
