import { DateTime, Duration, Schema } from "effect"
import { VerificationType } from "../agents/AgentVerifications.ts"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"

export const verificationChallengeLifetime = Duration.minutes(10)

export const ChallengePurpose = Schema.Literal(...VerificationType.literals, "webauthn-registration")
export type ChallengePurpose = typeof ChallengePurpose.Type

/** The only open challenge of an agent, user and purpose; a new one replaces it. */
export const VerificationChallenge = Schema.Struct({
  agentId: AgentId,
  userId: UserId,
  purpose: ChallengePurpose,
  nonce: Schema.String,
  expiresAt: Schema.DateTimeUtcFromSelf
})
export type VerificationChallenge = typeof VerificationChallenge.Type

/** Returns the text that wallets sign; WebAuthn challenges are its UTF-8 bytes. */
export const composeChallengeMessage = (
  { host }: URL,
  { agentId, expiresAt, nonce, purpose, userId }: VerificationChallenge
): string =>
  [
    `${host} asks you to verify that this agent is yours.`,
    "",
    `Agent: ${agentId}`,
    `User: ${userId}`,
    `Type: ${purpose}`,
    `Nonce: ${nonce}`,
    `Expires: ${DateTime.formatIso(expiresAt)}`
  ].join("\n")
