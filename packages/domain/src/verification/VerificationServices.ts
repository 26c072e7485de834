import { Effect, Layer } from "effect"
import { AgentVerifications } from "../agents/AgentVerifications.ts"
import { Authenticators } from "./Authenticators.ts"
import { ChainEvidence } from "./ChainEvidence.ts"
import { VerificationChallenges } from "./VerificationChallenges.ts"
import { VerificationRepository } from "./VerificationRepository.ts"
import { Verifications } from "./Verifications.ts"

/** Verifications as agents read them. */
const forAgents = Layer.effect(
  AgentVerifications,
  Effect.map(VerificationRepository, ({ find }) => ({ find }))
)

export const layer = Layer.merge(Verifications.Default, forAgents).pipe(
  Layer.provideMerge(Layer.merge(ChainEvidence.Default, Authenticators.Default)),
  Layer.provideMerge(VerificationChallenges.Default)
)
