import { Effect, type Redacted } from "effect"
import type { UserId } from "../accounts/User.ts"
import {
  channelCredentialKeys,
  type CredentialKey,
  credentialMapOf,
  modelCredentialKeys,
  parseCredentialKey,
  parseCredentialValue
} from "./Credential.ts"
import { CredentialRepository } from "./CredentialRepository.ts"

/** Keys and tokens that owners give us for their agents: written by them, read by the parts of the service that use them. */
export class CredentialVault extends Effect.Service<CredentialVault>()("@berth/CredentialVault", {
  effect: Effect.gen(function* () {
    const repository = yield* CredentialRepository

    /** Keeps a credential in place of the one before. */
    const set = Effect.fn("CredentialVault.set")(function* (userId: UserId, key: string, value: Redacted.Redacted) {
      const known = yield* parseCredentialKey(key)
      yield* repository.set(userId, known, yield* parseCredentialValue(value))
      yield* Effect.logInfo("A credential was set").pipe(Effect.annotateLogs({ userId, credential: known }))
      return known
    })

    const configured = Effect.fn("CredentialVault.configured")(function* (userId: UserId) {
      return credentialMapOf(yield* repository.keysOf(userId))
    })

    /** For the AI layer, when it works for this owner. */
    const modelKeysOf = Effect.fn("CredentialVault.modelKeysOf")(function* (userId: UserId) {
      return yield* repository.open(userId, modelCredentialKeys)
    })

    /** For this owner's messaging channels. */
    const channelTokensOf = Effect.fn("CredentialVault.channelTokensOf")(function* (userId: UserId) {
      return yield* repository.open(userId, channelCredentialKeys)
    })

    /** Forgets those of `keys` that the owner has. */
    const forget = Effect.fn("CredentialVault.forget")(function* (userId: UserId, keys: ReadonlyArray<CredentialKey>) {
      const forgotten = yield* repository.remove(userId, keys)
      if (forgotten > 0)
        yield* Effect.logInfo("Credentials were forgotten").pipe(
          Effect.annotateLogs({ userId, credentials: forgotten })
        )
    })

    return { set, forget, configured, modelKeysOf, channelTokensOf }
  })
}) {}
