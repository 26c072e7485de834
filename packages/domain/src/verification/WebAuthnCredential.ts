import { Encoding, Schema } from "effect"
import type { Agent } from "../agents/Agent.ts"

export const WebAuthnCredential = Schema.Struct({
  /** Chosen by the authenticator, base64url. */
  id: Schema.String,
  /** COSE key. */
  publicKey: Schema.Uint8ArrayFromSelf,
  /** Number of signatures; 0 for authenticators without a counter. */
  counter: Schema.Int
})
export type WebAuthnCredential = typeof WebAuthnCredential.Type

export const maximumCredentialsPerAgent = 10

/** COSE algorithms: EdDSA, ES256, RS256. */
export const webAuthnAlgorithms = [-8, -7, -257] as const

/** Returns `PublicKeyCredentialCreationOptionsJSON` for a passkey of the agent, with user verification. */
export const makeRegistrationOptions = (
  { host, hostname }: URL,
  agent: Pick<Agent, "id" | "name">,
  message: string,
  credentialIds: ReadonlyArray<string>
) => ({
  rp: { id: hostname, name: host },
  user: { id: Encoding.encodeBase64Url(agent.id), name: agent.name, displayName: agent.name },
  challenge: Encoding.encodeBase64Url(message),
  pubKeyCredParams: webAuthnAlgorithms.map((alg) => ({ type: "public-key" as const, alg })),
  timeout: 300_000,
  attestation: "none" as const,
  authenticatorSelection: {
    residentKey: "required" as const,
    requireResidentKey: true,
    userVerification: "required" as const
  },
  excludeCredentials: credentialIds.map((id) => ({ type: "public-key" as const, id }))
})
