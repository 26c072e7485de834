import { Data } from "effect"

/** What cannot be undone wants more than a session: the password, or a sign-in just now. */
export class ReauthenticationIsRequired extends Data.TaggedError("ReauthenticationIsRequired")<object> {}

/** Something is being written to the account at this very moment, and goes first. */
export class AccountIsInUse extends Data.TaggedError("AccountIsInUse")<object> {}
