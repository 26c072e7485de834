import { Effect, Layer } from "effect"
import { CredentialVault } from "../../secrets/CredentialVault.ts"
import { OwnerKeys } from "./OwnerKeys.ts"

export const layer = Layer.effect(
  OwnerKeys,
  Effect.map(CredentialVault, ({ readModelKeys }) => OwnerKeys.of({ find: readModelKeys }))
)
