import { VerificationType } from "@berth/domain/agents/AgentVerifications"
import { isWalletAddress, WalletAddress } from "@berth/domain/chain/WalletAddress"
import { AgentId } from "@berth/domain/shared/AgentId"
import { AttestationUid } from "@berth/domain/verification/Attestation"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { maximumCredentialsPerAgent } from "@berth/domain/verification/WebAuthnCredential"
import {
  VerificationFault,
  VerificationRejected,
  VerificationUnavailable
} from "@berth/domain/verification/VerificationErrors"
import { fieldsErrorBody, plainErrorBody } from "../http/ErrorBody.ts"

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

const VerificationRejectedBody = fieldsErrorBody(VerificationRejected, {
  status: 400,
  error: "Verification rejected",
  message: ({ fault }) => faultMessages[fault],
  members: Schema.Struct({ fault: VerificationFault }),
  example: { fault: "signature_invalid" }
})
const VerificationUnavailableBody = plainErrorBody(VerificationUnavailable, {
  status: 500,
  error: "Verification unavailable",
  message: "The chain is unreachable, so nothing was verified. Try again in a moment."
})

const path = Schema.Struct({ id: AgentId })

const required = (description: string) =>
  Schema.NonEmptyString.annotations({ message: () => "is required", description, jsonSchema: { minLength: 1 } })

/** Returns a single-use text to sign, valid for ten minutes. A new text replaces it. */
const challenge = HttpApiEndpoint.get("challenge", "/api/agents/:id/verify")
  .setPath(path)
  .setUrlParams(payload({ type: VerificationType }))
  .addSuccess(
    Schema.Struct({
      message: Schema.String.annotations({
        description: "Text for the wallet to sign; its UTF-8 bytes are the challenge for WebAuthn. Not used for eas"
      }),
      nonce: Schema.String,
      expiresAt: Timestamp
    }).annotations({ identifier: "VerificationChallenge" })
  )
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Create a verification challenge")

const result = {
  verified: Schema.Boolean,
  verificationType: Schema.NullOr(VerificationType),
  attestationUid: Schema.NullOr(Schema.String),
  verifiedAt: Schema.NullOr(Timestamp)
}

const claim = <Type extends VerificationType, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  payload({ verificationType: Schema.Literal(type), ...fields })

const walletSignature = required("The wallet's signature of the challenge, 0x and hex digits")

const verify = HttpApiEndpoint.post("verify", "/api/agents/:id/verify")
  .setPath(path)
  .setPayload(
    Schema.Union(
      claim("eas", { attestationUid: AttestationUid }),
      claim("coinbase", { signature: walletSignature }),
      claim("ens", {
        walletAddress: WalletAddress.pipe(
          Schema.filter(isWalletAddress, { message: () => "must be 0x and 40 hex digits" })
        ),
        signature: walletSignature
      }),
      claim("webauthn", { signature: required("base64url of the JSON of an assertion over the challenge") })
    )
  )
  .addSuccess(Schema.Struct({ success: Schema.Boolean, ...result }))
  .addError(VerificationRejectedBody)
  .addError(VerificationUnavailableBody)
  .addError(AgentNotFoundBody)
  .addError(RateLimitExceededBody)
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Verify an agent")

const verification = HttpApiEndpoint.get("verification", "/api/agents/:id/verification")
  .setPath(path)
  .addSuccess(
    Schema.Struct({ ...result, verifierAddress: Schema.NullOr(WalletAddress) }).annotations({
      identifier: "VerificationRecord"
    })
  )
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Retrieve an agent's verification")

const evidence = HttpApiEndpoint.get("evidence", "/api/agents/:id/verification/evidence")
  .setPath(path)
  .addSuccess(
    Schema.Struct({
      walletAddress: Schema.NullOr(WalletAddress).annotations({ description: "Wallet that the proof concerns" }),
      ensName: Schema.NullOr(Schema.String).annotations({ description: "Primary name of the wallet, for ens" })
    }).annotations({ identifier: "VerificationEvidence" })
  )
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Retrieve the wallet and the name that verify an agent")

/** Removes the verification and the registered authenticators. */
const unverify = HttpApiEndpoint.del("unverify", "/api/agents/:id/verify")
  .setPath(path)
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Remove an agent's verification")

const credentialDescriptor = Schema.Struct({ type: Schema.Literal("public-key"), id: Schema.String })

const RegistrationOptions = Schema.Struct({
  rp: Schema.Struct({ id: Schema.String, name: Schema.String }),
  user: Schema.Struct({ id: Schema.String, name: Schema.String, displayName: Schema.String }),
  challenge: Schema.String,
  pubKeyCredParams: Schema.Array(Schema.Struct({ type: Schema.Literal("public-key"), alg: Schema.Int })),
  timeout: Schema.Int,
  attestation: Schema.Literal("none"),
  authenticatorSelection: Schema.Struct({
    residentKey: Schema.Literal("required"),
    requireResidentKey: Schema.Boolean,
    userVerification: Schema.Literal("required")
  }),
  excludeCredentials: Schema.Array(credentialDescriptor)
}).annotations({
  identifier: "PublicKeyCredentialCreationOptions",
  description: "For PublicKeyCredential.parseCreationOptionsFromJSON"
})

/** Without `credential`, starts a registration; with it, completes the registration. */
const registerAuthenticator = HttpApiEndpoint.post("registerAuthenticator", "/api/agents/:id/verify/webauthn")
  .setPath(path)
  .setPayload(
    payload({
      credential: Schema.optionalWith(
        required("base64url of the JSON of the created credential (PublicKeyCredential.toJSON)"),
        { nullable: true }
      )
    })
  )
  .addSuccess(
    Schema.Union(
      Schema.Struct({ options: RegistrationOptions, expiresAt: Timestamp }),
      Schema.Struct({ success: Schema.Boolean, credentialId: Schema.String })
    )
  )
  .addError(VerificationRejectedBody)
  .addError(RateLimitExceededBody)
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Register an authenticator for the verification of an agent")

export class VerificationApi extends HttpApiGroup.make("verification")
  .add(challenge)
  .add(verify)
  .add(verification)
  .add(evidence)
  .add(unverify)
  .add(registerAuthenticator)
  .addError(InternalFailureBody) {}
