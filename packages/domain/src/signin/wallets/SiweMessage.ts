import type { DateTime, Option } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"

/** A Sign-In with Ethereum message (EIP-4361), as far as somebody who is asked to believe it needs it. */
export interface SiweMessage {
  /** The scheme before the domain, without `://`. */
  readonly scheme: Option.Option<string>
  /** Who asks for the signature: host, with the port when it is not the scheme's own. */
  readonly domain: string
  /** With its checksum (EIP-55). */
  readonly address: WalletAddress
  /** What the signature is for. */
  readonly uri: string
  readonly version: string
  readonly chainId: number
  readonly nonce: string
  readonly issuedAt: DateTime.Utc
  readonly expiresAt: Option.Option<DateTime.Utc>
  readonly notBefore: Option.Option<DateTime.Utc>
}
