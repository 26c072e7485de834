import { Schema } from "effect"
import { normalizeWalletAddress, WalletAddress } from "../../chain/WalletAddress.ts"
import { Email } from "../../shared/Email.ts"
import { UserId } from "../../shared/UserId.ts"

/** Linked to exactly one user. */
export const Wallet = Schema.Struct({
  address: WalletAddress,
  userId: UserId,
  linkedAt: Schema.DateTimeUtcFromSelf
})
export type Wallet = typeof Wallet.Type

export const maximumWalletsPerUser = 50

/** Email of an account created by a wallet sign-in. It receives no mail. */
export const makeWalletEmail = (address: WalletAddress, domain: string): Email =>
  Email.make(`${normalizeWalletAddress(address)}@${domain}`)
