import { Layer } from "effect"
import * as PostgresApiKeyRepository from "./PostgresApiKeyRepository.ts"
import * as PostgresMailedTokenRepository from "./PostgresMailedTokenRepository.ts"
import * as PostgresReferralRepository from "./PostgresReferralRepository.ts"
import * as PostgresUserRepository from "./PostgresUserRepository.ts"

export const layer = Layer.mergeAll(
  PostgresApiKeyRepository.layer,
  PostgresMailedTokenRepository.layer,
  PostgresReferralRepository.layer,
  PostgresUserRepository.layer
)
