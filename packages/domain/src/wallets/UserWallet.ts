import { Data, type DateTime, type Option, Schema } from "effect"
import type { WalletAddress } from "../chain/WalletAddress.ts"
import type { UserId } from "../shared/UserId.ts"

/** `user` is the user wallet, `cdp` the one of `POST /api/wallet/cdp`. */
export const UserWalletKind = Schema.Literal("user", "cdp")
export type UserWalletKind = typeof UserWalletKind.Type

export interface UserWallet {
  readonly userId: UserId
  readonly kind: UserWalletKind
  readonly address: WalletAddress
  readonly createdAt: DateTime.Utc
  /** Last known balance in wei. */
  readonly balance: Option.Option<bigint>
}

export class UserWalletExists extends Data.TaggedError("UserWalletExists")<object> {}
export class UserWalletNotFound extends Data.TaggedError("UserWalletNotFound")<object> {}
export class SeedExportDisabled extends Data.TaggedError("SeedExportDisabled")<object> {}
/** The text is not a private key of secp256k1. */
export class PrivateKeyInvalid extends Data.TaggedError("PrivateKeyInvalid")<object> {}
/** The sealed key of a wallet cannot be opened: its key-encryption key is missing, or the row was modified. */
export class WalletKeyUnavailable extends Data.TaggedError("WalletKeyUnavailable")<object> {}
