import { Layer } from "effect"
import * as PostgresLinkedIdentityRepository from "./PostgresLinkedIdentityRepository.ts"
import * as PostgresOAuthStateRepository from "./PostgresOAuthStateRepository.ts"
import * as PostgresSocialSessionRepository from "./PostgresSocialSessionRepository.ts"
import * as PostgresWalletNonceRepository from "./PostgresWalletNonceRepository.ts"
import * as PostgresWalletRepository from "./PostgresWalletRepository.ts"

export const layer = Layer.mergeAll(
  PostgresLinkedIdentityRepository.layer,
  PostgresOAuthStateRepository.layer,
  PostgresSocialSessionRepository.layer,
  PostgresWalletNonceRepository.layer,
  PostgresWalletRepository.layer
)
