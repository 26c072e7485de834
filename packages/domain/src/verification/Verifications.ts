import { DateTime, Effect } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { AgentNotFound } from "../agents/AgentErrors.ts"
import { SmartWalletSignatures } from "../chain/SmartWalletSignatures.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Authenticators } from "./Authenticators.ts"
import { ChainEvidence } from "./ChainEvidence.ts"
import { takeProof } from "./ProofLimit.ts"
import {
  noEvidence,
  proofTimeout,
  recheckInterval,
  type Verification,
  VerificationClaim,
  type VerificationEvidence,
  VerificationId
} from "./Verification.ts"
import { VerificationChallenges } from "./VerificationChallenges.ts"
import { VerificationRejected, VerificationUnavailable } from "./VerificationErrors.ts"
import { VerificationRepository } from "./VerificationRepository.ts"

type OwnedAgent = Pick<Agent, "id" | "ownerId" | "name">

/** A valid claim; `commit` consumes it in the transaction that stores the verification. */
interface ProvenClaim {
  readonly evidence: VerificationEvidence
  readonly commit: Effect.Effect<void, VerificationRejected>
}

/** Verification of agents by attestations, names and authenticators. */
export class Verifications extends Effect.Service<Verifications>()("@berth/Verifications", {
  effect: Effect.gen(function* () {
    const repository = yield* VerificationRepository
    const challenges = yield* VerificationChallenges
    const evidence = yield* ChainEvidence
    const authenticators = yield* Authenticators
    const signatures = yield* SmartWalletSignatures
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction
    const ids = yield* IdGenerator

    /** Returns the linked wallet that signed the message. */
    const findSigner = Effect.fnUntraced(function* (agent: OwnedAgent, message: string, signature: string) {
      const wallets = yield* evidence.listWallets(agent.ownerId)
      if (wallets.length === 0) return yield* new VerificationRejected({ fault: "wallet_not_linked" })
      const signer = yield* Effect.findFirst(wallets, (address) =>
        Effect.map(signatures.verify({ address, message, signature, chain: "base" }), (verdict) => verdict === "valid")
      )
      return yield* Effect.mapError(signer, () => new VerificationRejected({ fault: "signature_invalid" }))
    })

    const requireSignature = Effect.fnUntraced(function* (address: WalletAddress, message: string, signature: string) {
      const verdict = yield* signatures.verify({ address, message, signature, chain: "ethereum" })
      if (verdict === "invalid") return yield* new VerificationRejected({ fault: "signature_invalid" })
    })

    const prove = (agent: OwnedAgent, claim: VerificationClaim) =>
      VerificationClaim.$match(claim, {
        eas: ({ attestationUid }) =>
          Effect.map(evidence.readOwnAttestation(agent.ownerId, attestationUid, "latest"), (found): ProvenClaim => ({
            evidence: found,
            commit: Effect.void
          })),
        coinbase: ({ signature }) =>
          Effect.gen(function* () {
            const challenge = yield* challenges.find(agent.ownerId, agent.id, "coinbase")
            const wallet = yield* findSigner(agent, challenge.message, signature)
            const found = yield* evidence.readAccountAttestation(agent.ownerId, wallet, "latest")
            return { evidence: found, commit: challenges.consume(challenge) } satisfies ProvenClaim
          }),
        ens: ({ signature, walletAddress }) =>
          Effect.gen(function* () {
            const challenge = yield* challenges.find(agent.ownerId, agent.id, "ens")
            yield* requireSignature(walletAddress, challenge.message, signature)
            const found = yield* evidence.readPrimaryName(walletAddress, "latest")
            return { evidence: found, commit: challenges.consume(challenge) } satisfies ProvenClaim
          }),
        webauthn: ({ signature }) =>
          Effect.gen(function* () {
            const challenge = yield* challenges.find(agent.ownerId, agent.id, "webauthn")
            const { counter, credential } = yield* authenticators.readAssertion(agent, signature, challenge.message)
            return {
              evidence: noEvidence,
              commit: Effect.zipRight(challenges.consume(challenge), authenticators.setCounter(credential, counter))
            } satisfies ProvenClaim
          })
      })

    /** Verifies the agent and replaces an earlier verification. An invalid claim changes nothing. */
    const verify = Effect.fn("Verifications.verify")(
      function* (agent: OwnedAgent, claim: VerificationClaim) {
        yield* takeProof(limiter, agent)
        const proven = yield* Effect.timeoutFail(prove(agent, claim), {
          duration: proofTimeout,
          onTimeout: () => new VerificationUnavailable()
        })
        const verifiedAt = yield* DateTime.now
        const verification: Verification = {
          id: VerificationId.make(yield* ids.next("ver")),
          agentId: agent.id,
          ownerId: agent.ownerId,
          type: claim._tag,
          ...proven.evidence,
          verifiedAt
        }
        yield* transaction.run(
          Effect.gen(function* () {
            yield* proven.commit
            if (!(yield* repository.save(verification, DateTime.addDuration(verifiedAt, recheckInterval))))
              return yield* new AgentNotFound()
          })
        )
        yield* Effect.logInfo("Agent verified").pipe(Effect.annotateLogs({ agentId: agent.id, type: claim._tag }))
        return verification
      },
      Effect.tapErrorTag("VerificationRejected", ({ fault }) =>
        Effect.logInfo("Verification rejected").pipe(Effect.annotateLogs({ fault }))
      ),
      Effect.catchTag("ChainUnreachable", () => new VerificationUnavailable())
    )

    /** Removes the verification and the registered authenticators. Idempotent. */
    const remove = Effect.fn("Verifications.remove")(function* ({ id, ownerId }: OwnedAgent) {
      yield* transaction.run(Effect.zipRight(repository.remove(ownerId, id), authenticators.removeAll(ownerId, id)))
    })

    return { verify, remove, find: repository.find }
  })
}) {}
