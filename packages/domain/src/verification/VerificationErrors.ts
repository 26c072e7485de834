import { Data, Schema } from "effect"

export const VerificationFault = Schema.Literal(
  "challenge_missing",
  "signature_invalid",
  "wallet_not_linked",
  "attestation_missing",
  "attestation_revoked",
  "attestation_expired",
  "schema_untrusted",
  "attester_untrusted",
  "recipient_not_linked",
  "name_missing",
  "name_mismatch",
  "credential_unknown",
  "credential_invalid",
  "credential_limit_reached",
  "counter_not_increased"
)
export type VerificationFault = typeof VerificationFault.Type

/** The claim is not valid; the agent's verification is unchanged. */
export class VerificationRejected extends Data.TaggedError("VerificationRejected")<{
  readonly fault: VerificationFault
}> {}

/** The chain is unreachable, so the claim can be neither accepted nor rejected. */
export class VerificationUnavailable extends Data.TaggedError("VerificationUnavailable")<object> {}
