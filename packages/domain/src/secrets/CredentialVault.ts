import { Effect, type Redacted } from "effect"
import {
  channelCredentialKeys,
  type CredentialKey,
  makeCredentialMap,
  modelCredentialKeys,
  parseCredentialKey,
  parseCredentialValue
} from "./Credential.ts"
import { CredentialRepository } from "./CredentialRepository.ts"
import type { UserId } from "../shared/UserId.ts"

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

    const findConfigured = Effect.fn("CredentialVault.findConfigured")(function* (userId: UserId) {
      return makeCredentialMap(yield* repository.listKeys(userId))
    })

    /** For the AI layer, when it works for this owner. */
    const readModelKeys = Effect.fn("CredentialVault.readModelKeys")(function* (userId: UserId) {
      return yield* repository.decrypt(userId, modelCredentialKeys)
    })

    /** For this owner's messaging channels. */
    const readChannelTokens = Effect.fn("CredentialVault.readChannelTokens")(function* (userId: UserId) {
      return yield* repository.decrypt(userId, channelCredentialKeys)
    })

    /** Forgets those of `keys` that the owner has. */
    const remove = Effect.fn("CredentialVault.remove")(function* (userId: UserId, keys: ReadonlyArray<CredentialKey>) {
      const forgotten = yield* repository.remove(userId, keys)
      if (forgotten > 0)
        yield* Effect.logInfo("Credentials were forgotten").pipe(
          Effect.annotateLogs({ userId, credentials: forgotten })
        )
    })

    return { set, remove, findConfigured, readModelKeys, readChannelTokens }
  })
}) {}
