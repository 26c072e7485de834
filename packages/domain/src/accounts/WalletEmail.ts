import { type WalletAddress, walletKey } from "../chain/WalletAddress.ts"
import { Email, emailKey } from "./Email.ts"

/** The address of an account that a wallet's first sign-in makes. No mail arrives there. */
export const walletEmail = (address: WalletAddress, domain: string): Email =>
  Email.make(`${walletKey(address)}@${domain}`)

/** Whether an address is of the wallets' domain. */
export const isWalletEmail = (email: Email, domain: string): boolean =>
  emailKey(email).endsWith(`@${domain.toLowerCase()}`)
