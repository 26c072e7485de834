import type { DateTime, Option } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"

/** Sign-In with Ethereum message (EIP-4361), limited to the validated fields. */
export interface SiweMessage {
  /** Scheme before the domain, without `://`. */
  readonly scheme: Option.Option<string>
  /** Host, with the port unless it is the default of the scheme. */
  readonly domain: string
  /** With EIP-55 checksum. */
  readonly address: WalletAddress
  readonly uri: string
  readonly version: string
  readonly chainId: number
  readonly nonce: string
  readonly issuedAt: DateTime.Utc
  readonly expiresAt: Option.Option<DateTime.Utc>
  readonly notBefore: Option.Option<DateTime.Utc>
}
