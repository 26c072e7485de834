import { Effect, Layer } from "effect"
import { AgentVerifications } from "../agents/AgentVerifications.ts"
import { AccessNotices } from "../accounts/access-notices/AccessNotices.ts"
import { LinkedWallets } from "../signin/wallets/LinkedWallets.ts"
import { Authenticators } from "./Authenticators.ts"
import { ChainEvidence } from "./ChainEvidence.ts"
import { VerificationChallenges } from "./VerificationChallenges.ts"
import { VerificationChecks } from "./VerificationChecks.ts"
import { VerificationRepository } from "./VerificationRepository.ts"
import { Verifications } from "./Verifications.ts"

/** Implements the agents' port of verifications. */
const forAgents = Layer.effect(
  AgentVerifications,
  Effect.map(VerificationRepository, ({ find }) => ({ find }))
)

const evidence = Layer.provide(ChainEvidence.Default, LinkedWallets.Default)

export const verificationJobs = VerificationChecks.Default.pipe(
  Layer.provide(Layer.merge(evidence, AccessNotices.Default))
)

export const layer = Layer.merge(Verifications.Default, forAgents).pipe(
  Layer.provideMerge(Layer.merge(evidence, Authenticators.Default)),
  Layer.provideMerge(VerificationChallenges.Default)
)
