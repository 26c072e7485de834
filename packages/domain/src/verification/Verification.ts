import { Data, Duration, Schema } from "effect"
import { VerificationType } from "../agents/AgentVerifications.ts"
import { WalletAddress } from "../chain/WalletAddress.ts"
import { idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"

export const VerificationId = idSchema("VerificationId", "A verification's id, ver_…")
export type VerificationId = typeof VerificationId.Type

/** Facts proved by a claim. Periodic checks compare them with the chain. */
export const VerificationEvidence = Schema.Struct({
  attestationUid: Schema.NullOr(Schema.String),
  /** The attester, or the wallet of the ENS name. */
  verifierAddress: Schema.NullOr(WalletAddress),
  /** The owner's wallet. */
  walletAddress: Schema.NullOr(WalletAddress),
  /** Normalized (ENSIP-15). */
  ensName: Schema.NullOr(Schema.String)
})
export type VerificationEvidence = typeof VerificationEvidence.Type

/** Present while the agent is verified. A new verification has a new id. */
export const Verification = Schema.Struct({
  id: VerificationId,
  agentId: AgentId,
  ownerId: UserId,
  type: VerificationType,
  ...VerificationEvidence.fields,
  verifiedAt: Schema.DateTimeUtcFromSelf
})
export type Verification = typeof Verification.Type

export const noEvidence: VerificationEvidence = {
  attestationUid: null,
  verifierAddress: null,
  walletAddress: null,
  ensName: null
}

/** Timeout of all chain calls for one proof. */
export const proofTimeout = Duration.seconds(20)

/** Time between checks of a verification on a chain. */
export const recheckInterval = Duration.hours(1)

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
