import { type DateTime, type Option, Schema } from "effect"
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
