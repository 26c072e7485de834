import { Either } from "effect"
import { normalizeWalletAddress, type WalletAddress } from "../../chain/WalletAddress.ts"
import { makeWalletEmail, type Wallet } from "./Wallet.ts"
import { LastAccessMethodRequired, WalletEmailInUse, WalletNotFound } from "./WalletErrors.ts"
import { type Email, normalizeEmail } from "../../shared/Email.ts"

export interface WalletUnlinkingInput {
  readonly address: WalletAddress
  readonly wallets: ReadonlyArray<Wallet>
  readonly email: Email
  readonly hasOtherAccessMethod: boolean
  readonly walletEmailDomain: string
}

/** Rejects the removal of the last access method, and of a wallet that the next sign-in would link again. */
export const validateWalletUnlinking = ({
  address,
  email,
  hasOtherAccessMethod,
  walletEmailDomain,
  wallets
}: WalletUnlinkingInput): Either.Either<void, WalletNotFound | LastAccessMethodRequired | WalletEmailInUse> => {
  if (!wallets.some((wallet) => normalizeWalletAddress(wallet.address) === normalizeWalletAddress(address)))
    return Either.left(new WalletNotFound())
  if (wallets.length === 1 && !hasOtherAccessMethod) return Either.left(new LastAccessMethodRequired())
  if (normalizeEmail(email) === normalizeEmail(makeWalletEmail(address, walletEmailDomain)))
    return Either.left(new WalletEmailInUse())
  return Either.void
}
