import { Context, type Effect } from "effect"
import type { Chain, ChainUnreachable } from "./Chain.ts"
import type { WalletAddress } from "./WalletAddress.ts"

export type SignatureVerdict = "valid" | "invalid"

export interface SignedMessage {
  readonly address: WalletAddress
  /** Signed text, without the EIP-191 prefix. */
  readonly message: string
  /** `0x` and hex digits, at most `maximumSignatureBytes`; other texts are invalid. */
  readonly signature: string
  /** Chain of the wallet's contract, since another contract may have its address on another chain. */
  readonly chain: Chain
}

/** A passkey signature with the factory call of its wallet has about 2,000 bytes. */
export const maximumSignatureBytes = 8 * 1024

/** Verifies EOA, ERC-1271 and ERC-6492 signatures. An outage is an error, never an invalid signature. */
export class SmartWalletSignatures extends Context.Tag("@berth/SmartWalletSignatures")<
  SmartWalletSignatures,
  { readonly verify: (signed: SignedMessage) => Effect.Effect<SignatureVerdict, ChainUnreachable> }
>() {}
