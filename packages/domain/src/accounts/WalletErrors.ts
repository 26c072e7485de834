import { Data } from "effect"

/** The wallet is another user's. */
export class WalletIsTaken extends Data.TaggedError("WalletIsTaken")<object> {}
/** The wallet is not among the user's. */
export class WalletIsUnknown extends Data.TaggedError("WalletIsUnknown")<object> {}
/** Without this wallet nobody could get into the account any more. */
export class WalletIsLastWayIn extends Data.TaggedError("WalletIsLastWayIn")<object> {}
/** The account's e-mail is derived from this wallet, so that signing in with it would link it again. */
export class WalletIsTheEmail extends Data.TaggedError("WalletIsTheEmail")<object> {}
/** The account has as many wallets as one may have. */
export class TooManyWallets extends Data.TaggedError("TooManyWallets")<object> {}
