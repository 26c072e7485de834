import { Data } from "effect"

/** The wallet is another user's. */
export class WalletAlreadyLinked extends Data.TaggedError("WalletAlreadyLinked")<object> {}
/** The wallet is not among the user's. */
export class WalletNotFound extends Data.TaggedError("WalletNotFound")<object> {}
/** Without this wallet nobody could get into the account any more. */
export class LastAccessMethodRequired extends Data.TaggedError("LastAccessMethodRequired")<object> {}
/** The account's e-mail is derived from this wallet, so that signing in with it would link it again. */
export class WalletEmailInUse extends Data.TaggedError("WalletEmailInUse")<object> {}
/** The account has as many wallets as one may have. */
export class WalletLimitReached extends Data.TaggedError("WalletLimitReached")<object> {}
