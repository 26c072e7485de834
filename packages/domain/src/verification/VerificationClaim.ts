import { Data } from "effect"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** A claim of an agent's owner, of the verification's type. */
export type VerificationClaim = Data.TaggedEnum<{
  eas: { readonly attestationUid: string }
  /** A linked wallet's signature of the challenge. */
  coinbase: { readonly signature: string }
  ens: { readonly walletAddress: WalletAddress; readonly signature: string }
  /** `signature` is the base64url JSON of an assertion over the challenge. */
  webauthn: { readonly signature: string }
}>
export const VerificationClaim = Data.taggedEnum<VerificationClaim>()
