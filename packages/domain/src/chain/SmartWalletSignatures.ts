import { Context, type Effect } from "effect"
import type { Chain } from "./Chain.ts"
import type { ChainUnreachable } from "./ChainErrors.ts"
import type { WalletAddress } from "./WalletAddress.ts"

export type SignatureVerdict = "valid" | "invalid"

export interface SignedMessage {
  readonly address: WalletAddress
  /** The text that was signed, as it is (EIP-191). */
  readonly message: string
  /** `0x` and hex digits; anything else, and more than `largestSignature` bytes, is invalid. */
  readonly signature: string
  readonly chain: Chain
}

/** The largest signature that is looked at, in bytes: a passkey's with the factory call of its wallet has about two thousand. */
export const maximumSignatureBytes = 8 * 1024

/**
 * Whether a wallet has signed a text: by its own key (checked here, without the chain), by its contract (ERC-1271), or by a
 * contract that is yet to be deployed (ERC-6492). An outage is an error and never "invalid".
 */
export class SmartWalletSignatures extends Context.Tag("@berth/SmartWalletSignatures")<
  SmartWalletSignatures,
  { readonly verify: (signed: SignedMessage) => Effect.Effect<SignatureVerdict, ChainUnreachable> }
>() {}
