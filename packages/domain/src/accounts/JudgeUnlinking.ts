import { Either } from "effect"
import { type WalletAddress, walletKey } from "../chain/WalletAddress.ts"
import { type Email, emailKey } from "./Email.ts"
import type { Wallet } from "./Wallet.ts"
import { walletEmail } from "./WalletEmail.ts"
import { WalletIsLastWayIn, WalletIsTheEmail, WalletIsUnknown } from "./WalletErrors.ts"

export interface UnlinkingFacts {
  readonly address: WalletAddress
  /** All wallets of the account. */
  readonly wallets: ReadonlyArray<Wallet>
  readonly email: Email
  /** Whether the account can be got into without any wallet. */
  readonly hasOtherWayIn: boolean
  readonly walletEmailDomain: string
}

/** Whether a wallet may be taken from an account: not the last way in, and not one that would come back by itself. */
export const judgeUnlinking = ({
  address,
  email,
  hasOtherWayIn,
  walletEmailDomain,
  wallets
}: UnlinkingFacts): Either.Either<void, WalletIsUnknown | WalletIsLastWayIn | WalletIsTheEmail> => {
  if (!wallets.some((wallet) => walletKey(wallet.address) === walletKey(address)))
    return Either.left(new WalletIsUnknown())
  if (wallets.length === 1 && !hasOtherWayIn) return Either.left(new WalletIsLastWayIn())
  if (emailKey(email) === emailKey(walletEmail(address, walletEmailDomain))) return Either.left(new WalletIsTheEmail())
  return Either.void
}
