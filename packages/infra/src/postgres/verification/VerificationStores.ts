import { Layer } from "effect"
import * as PostgresVerificationChallengeRepository from "./PostgresVerificationChallengeRepository.ts"
import * as PostgresVerificationRepository from "./PostgresVerificationRepository.ts"
import * as PostgresWebAuthnCredentialRepository from "./PostgresWebAuthnCredentialRepository.ts"

export const layer = Layer.mergeAll(
  PostgresVerificationRepository.layer,
  PostgresVerificationChallengeRepository.layer,
  PostgresWebAuthnCredentialRepository.layer
)
