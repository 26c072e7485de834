import { Schema } from "effect"
import { WalletAddress } from "../../chain/WalletAddress.ts"
import { UserId } from "../../shared/User.ts"

/** A wallet that signs a user in. It belongs to one user. */
export const Wallet = Schema.Struct({
  address: WalletAddress,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromSelf
})
export type Wallet = typeof Wallet.Type

/** How many wallets one account may have. */
export const maximumWalletsPerUser = 50
