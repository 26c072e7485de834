import { Effect, type Redacted } from "effect"
import {
  channelCredentialKeys,
  type StoredCredentialKey,
  makeCredentialMap,
  type ModelCredentialKey,
  modelCredentialKeys,
  parseCredentialKey,
  parseCredentialValue
} from "./Credential.ts"
import { CredentialRepository } from "./CredentialRepository.ts"
import type { UserId } from "../shared/UserId.ts"

/** Keys and tokens of owners: owners write them, only the AI layer and channels read them. */
export class CredentialVault extends Effect.Service<CredentialVault>()("@berth/CredentialVault", {
  effect: Effect.gen(function* () {
    const repository = yield* CredentialRepository

    const set = Effect.fn("CredentialVault.set")(function* (userId: UserId, key: string, value: Redacted.Redacted) {
      const known = yield* parseCredentialKey(key)
      yield* repository.set(userId, known, yield* parseCredentialValue(value))
      yield* Effect.logInfo("Credential set").pipe(Effect.annotateLogs({ userId, credential: known }))
      return known
    })

    const findConfigured = Effect.fn("CredentialVault.findConfigured")(function* (userId: UserId) {
      return makeCredentialMap(yield* repository.listKeys(userId))
    })

    const hasModelKey = Effect.fn("CredentialVault.hasModelKey")(function* (userId: UserId) {
      const known = yield* repository.listKeys(userId)
      return modelCredentialKeys.some((key) => known.includes(key))
    })

    /** For the AI layer, in calls of this owner. */
    const readModelKeys = Effect.fn("CredentialVault.readModelKeys")(function* (userId: UserId) {
      return yield* repository.decrypt(userId, modelCredentialKeys)
    })

    /** For this owner's messaging channels. */
    const readChannelTokens = Effect.fn("CredentialVault.readChannelTokens")(function* (userId: UserId) {
      return yield* repository.decrypt(userId, channelCredentialKeys)
    })

    /** Stores a model key as it is; the provider is not asked. Joins the running transaction. */
    const setModelKey = Effect.fn("CredentialVault.setModelKey")(function* (
      userId: UserId,
      key: ModelCredentialKey,
      value: Redacted.Redacted
    ) {
      yield* repository.set(userId, key, value)
      yield* Effect.logInfo("Credential set").pipe(Effect.annotateLogs({ userId, credential: key }))
    })

    /** Gives the model keys to another user, except for providers whose key that user has; returns the moved ones. Joins the running transaction. */
    const moveModelKeys = Effect.fn("CredentialVault.moveModelKeys")(function* (from: UserId, to: UserId) {
      const [values, known] = [yield* repository.decrypt(from, modelCredentialKeys), yield* repository.listKeys(to)]
      const moved = yield* Effect.filter(modelCredentialKeys, (key) => {
        const value = values[key]
        return value === undefined || known.includes(key)
          ? Effect.succeed(false)
          : Effect.as(repository.set(to, key, value), true)
      })
      yield* repository.remove(from, modelCredentialKeys)
      return moved
    })

    const remove = Effect.fn("CredentialVault.remove")(function* (
      userId: UserId,
      keys: ReadonlyArray<StoredCredentialKey>
    ) {
      const removed = yield* repository.remove(userId, keys)
      if (removed > 0)
        yield* Effect.logInfo("Credentials removed").pipe(Effect.annotateLogs({ userId, credentials: removed }))
    })

    return {
      set,
      setModelKey,
      hasModelKey,
      moveModelKeys,
      remove,
      removeSince: repository.removeSince,
      findConfigured,
      readModelKeys,
      readChannelTokens
    }
  })
}) {}
