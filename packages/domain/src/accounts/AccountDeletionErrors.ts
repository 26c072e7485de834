import { Data } from "effect"

/** What cannot be undone wants more than a session: the password, or a sign-in just now. */
export class ReauthenticationRequired extends Data.TaggedError("ReauthenticationRequired")<object> {}

/** Something is being written to the account at this very moment, and goes first. */
export class AccountInUse extends Data.TaggedError("AccountInUse")<object> {}
