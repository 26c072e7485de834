import { Data } from "effect"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** The owner's claim, by type of verification. */
export type VerificationClaim = Data.TaggedEnum<{
  eas: { readonly attestationUid: string }
  /** Signature of the challenge by a linked wallet. */
  coinbase: { readonly signature: string }
  ens: { readonly walletAddress: WalletAddress; readonly signature: string }
  /** `signature` is the base64url JSON of an assertion over the challenge. */
  webauthn: { readonly signature: string }
}>
export const VerificationClaim = Data.taggedEnum<VerificationClaim>()
