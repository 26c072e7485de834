import { maximumCredentialsPerAgent } from "@berth/domain/verification/WebAuthnCredential"
import {
  VerificationFault,
  VerificationRejected,
  VerificationUnavailable
} from "@berth/domain/verification/VerificationErrors"
import { Schema } from "effect"
import { plainErrorBody, fieldsErrorBody } from "../http/ErrorBody.ts"

const faultMessages: Record<VerificationFault, string> = {
  challenge_missing: "No challenge is open: it was never issued, is expired, or was used. Request a new one.",
  signature_invalid: "The signature is not the wallet's, or is not of the challenge.",
  wallet_not_linked: "The wallet is not linked to your account. Link it first.",
  attestation_missing: "There is no such attestation.",
  attestation_revoked: "The attestation is revoked.",
  attestation_expired: "The attestation is expired.",
  schema_untrusted: "The attestation's schema is not accepted here.",
  attester_untrusted: "The attestation's attester is not accepted here.",
  recipient_not_linked: "The attestation's recipient is not a wallet of your account. Link the wallet first.",
  name_missing: "The wallet has no primary ENS name in normal form.",
  name_mismatch: "The wallet's primary ENS name belongs to another address.",
  credential_unknown: "The authenticator is not registered for this agent.",
  credential_invalid: "The authenticator's response does not prove the challenge, or its counter did not increase.",
  credential_limit_reached: `An agent has at most ${maximumCredentialsPerAgent} authenticators. Remove the verification to start again.`,
  counter_not_increased: "The authenticator's counter was used before."
}

export const VerificationRejectedBody = fieldsErrorBody(VerificationRejected, {
  status: 400,
  error: "Verification rejected",
  message: ({ fault }) => faultMessages[fault],
  members: Schema.Struct({ fault: VerificationFault }),
  example: { fault: "signature_invalid" }
})
export const VerificationUnavailableBody = plainErrorBody(VerificationUnavailable, {
  status: 500,
  error: "Verification unavailable",
  message: "The chain is unreachable, so nothing was verified. Try again in a moment."
})
