import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { Authenticators } from "@berth/domain/verification/Authenticators"
import { noEvidence, type Verification, VerificationClaim } from "@berth/domain/verification/Verification"
import { VerificationChallenges } from "@berth/domain/verification/VerificationChallenges"
import { Verifications } from "@berth/domain/verification/Verifications"
import { Effect, Match, Option } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

const toResult = ({ attestationUid, type, verifiedAt }: Verification) => ({
  verified: true,
  verificationType: type,
  attestationUid,
  verifiedAt
})

const unverified = {
  verified: false,
  verificationType: null,
  attestationUid: null,
  verifierAddress: null,
  verifiedAt: null
}

export const layer = group(WebApi, "verification", (handlers) =>
  Effect.gen(function* () {
    const verifications = yield* Verifications
    const challenges = yield* VerificationChallenges
    const authenticators = yield* Authenticators

    return handlers
      .handle("challenge", ({ urlParams: { type } }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          const { expiresAt, message, nonce } = yield* challenges.issue(user.id, agent.id, type)
          return { message, nonce, expiresAt }
        })
      )
      .handle("verify", ({ payload }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const claim = Match.value(payload).pipe(
            Match.discriminatorsExhaustive("verificationType")({
              eas: VerificationClaim.eas,
              coinbase: VerificationClaim.coinbase,
              ens: VerificationClaim.ens,
              webauthn: VerificationClaim.webauthn
            })
          )
          return { success: true, ...toResult(yield* verifications.verify(agent, claim)) }
        }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
      )
      .handle("verification", () =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          const found = yield* verifications.find(user.id, agent.id)
          return Option.match(found, {
            onNone: () => unverified,
            onSome: (verification) => ({
              ...toResult(verification),
              verifierAddress: verification.verifierAddress
            })
          })
        })
      )
      .handle("evidence", () =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          const verification = yield* verifications.find(user.id, agent.id)
          const { ensName, walletAddress } = Option.getOrElse(verification, () => noEvidence)
          return { walletAddress, ensName }
        })
      )
      .handle("unverify", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          yield* verifications.remove(agent)
          return { success: true }
        })
      )
      .handle("registerAuthenticator", ({ payload: { credential } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          if (credential === undefined) return yield* authenticators.startRegistration(agent)
          return { success: true, credentialId: yield* authenticators.register(agent, credential) }
        }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
      )
  })
)
