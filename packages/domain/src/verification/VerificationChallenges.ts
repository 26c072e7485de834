import { DateTime, Effect, Option, Redacted } from "effect"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import { Tokens } from "../secrets/Tokens.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import {
  verificationChallengeLifetime,
  type ChallengePurpose,
  composeChallengeMessage,
  type VerificationChallenge
} from "./VerificationChallenge.ts"
import { VerificationChallengeRepository } from "./VerificationChallengeRepository.ts"
import { VerificationRejected } from "./VerificationErrors.ts"

/** Single-use texts to sign, bound to host, agent, owner and purpose. */
export class VerificationChallenges extends Effect.Service<VerificationChallenges>()("@berth/VerificationChallenges", {
  effect: Effect.gen(function* () {
    const challenges = yield* VerificationChallengeRepository
    const tokens = yield* Tokens
    const { appUrl } = yield* AccountPolicy

    const withMessage = (challenge: VerificationChallenge) => ({
      ...challenge,
      message: composeChallengeMessage(appUrl, challenge)
    })

    const issue = Effect.fn("VerificationChallenges.issue")(function* (
      userId: UserId,
      agentId: AgentId,
      purpose: ChallengePurpose
    ) {
      const nonce = Redacted.value(yield* tokens.make)
      const expiresAt = DateTime.addDuration(yield* DateTime.now, verificationChallengeLifetime)
      const challenge = { agentId, userId, purpose, nonce, expiresAt }
      yield* challenges.save(challenge)
      return withMessage(challenge)
    })

    /** Fails without an open challenge: never issued, used, replaced or expired. */
    const find = Effect.fn("VerificationChallenges.find")(function* (
      userId: UserId,
      agentId: AgentId,
      purpose: ChallengePurpose
    ) {
      const now = yield* DateTime.now
      const challenge = yield* challenges.find({ agentId, userId, purpose })
      return yield* Option.filter(challenge, ({ expiresAt }) => DateTime.greaterThan(expiresAt, now)).pipe(
        Option.map(withMessage),
        Effect.mapError(() => new VerificationRejected({ fault: "challenge_missing" }))
      )
    })

    /** Succeeds once. Call in the transaction of the proven action. */
    const consume = Effect.fn("VerificationChallenges.consume")(function* (challenge: VerificationChallenge) {
      if (!(yield* challenges.consume(challenge)))
        return yield* new VerificationRejected({ fault: "challenge_missing" })
    })

    return { issue, find, consume }
  })
}) {}
