import { type WalletAddress, normalizeWalletAddress } from "../../chain/WalletAddress.ts"
import { Email } from "../../shared/Email.ts"

/** The address of an account that a wallet's first sign-in makes. No mail arrives there. */
export const makeWalletEmail = (address: WalletAddress, domain: string): Email =>
  Email.make(`${normalizeWalletAddress(address)}@${domain}`)
