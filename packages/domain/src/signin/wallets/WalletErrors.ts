import { Data } from "effect"

/** The wallet is linked to another user. */
export class WalletAlreadyLinked extends Data.TaggedError("WalletAlreadyLinked")<object> {}
export class WalletNotFound extends Data.TaggedError("WalletNotFound")<object> {}
/** The wallet is the only access method of the account. */
export class LastAccessMethodRequired extends Data.TaggedError("LastAccessMethodRequired")<object> {}
/** The account's email is derived from the wallet, so a sign-in would link it again. */
export class WalletEmailInUse extends Data.TaggedError("WalletEmailInUse")<object> {}
export class WalletLimitReached extends Data.TaggedError("WalletLimitReached")<object> {}
