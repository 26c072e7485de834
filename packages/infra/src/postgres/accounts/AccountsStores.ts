import { Layer } from "effect"
import * as PostgresMailedTokenRepository from "./PostgresMailedTokenRepository.ts"
import * as PostgresReferralRepository from "./PostgresReferralRepository.ts"
import * as PostgresUserRepository from "./PostgresUserRepository.ts"

export const layer = Layer.mergeAll(
  PostgresMailedTokenRepository.layer,
  PostgresReferralRepository.layer,
  PostgresUserRepository.layer
)
