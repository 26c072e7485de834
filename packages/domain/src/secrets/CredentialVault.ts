import { Cache, type DateTime, Duration, Effect, type Redacted } from "effect"
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

/** Maximum time that a model key replaced or removed by another process remains usable. */
const modelKeysAge = Duration.seconds(2)
const ownersAtOnce = 1_000

/** Keys and tokens of owners. Owners write them; only the AI layer and channels read them. */
export class CredentialVault extends Effect.Service<CredentialVault>()("@berth/CredentialVault", {
  effect: Effect.gen(function* () {
    const repository = yield* CredentialRepository
    const modelKeys = yield* Cache.make({
      capacity: ownersAtOnce,
      lookup: Effect.fn("CredentialVault.readModelKeys")((userId: UserId) =>
        repository.decrypt(userId, modelCredentialKeys)
      ),
      timeToLive: modelKeysAge
    })
    /**
     * Invalidates the cache after the write, so that the owner's next model call in this process reads the new keys. A
     * call before the commit can cache the old keys for `modelKeysAge`.
     */
    const changing = <A, E, R>(userId: UserId, change: Effect.Effect<A, E, R>) =>
      Effect.ensuring(change, modelKeys.invalidate(userId))

    const set = Effect.fn("CredentialVault.set")(function* (userId: UserId, key: string, value: Redacted.Redacted) {
      const parsedKey = yield* parseCredentialKey(key)
      const parsed = yield* parseCredentialValue(value)
      yield* changing(userId, repository.set(userId, parsedKey, parsed))
      yield* Effect.logInfo("Credential set").pipe(Effect.annotateLogs({ userId, credential: parsedKey }))
      return parsedKey
    })

    const findConfigured = Effect.fn("CredentialVault.findConfigured")(function* (userId: UserId) {
      return makeCredentialMap(yield* repository.listKeys(userId))
    })

    const hasModelKey = Effect.fn("CredentialVault.hasModelKey")(function* (userId: UserId) {
      const keys = yield* repository.listKeys(userId)
      return modelCredentialKeys.some((key) => keys.includes(key))
    })

    /** For the AI layer's calls for this owner; cached for the model calls of a turn. */
    const readModelKeys = (userId: UserId) =>
      // Uninterruptible, since other callers wait for the same lookup. Failures are not cached.
      Effect.uninterruptible(Effect.onError(modelKeys.get(userId), () => modelKeys.invalidate(userId)))

    /** For this owner's messaging channels. */
    const readChannelTokens = Effect.fn("CredentialVault.readChannelTokens")(function* (userId: UserId) {
      return yield* repository.decrypt(userId, channelCredentialKeys)
    })

    /** Stores a model key without verifying it with the provider. Joins the running transaction. */
    const setModelKey = Effect.fn("CredentialVault.setModelKey")(function* (
      userId: UserId,
      key: ModelCredentialKey,
      value: Redacted.Redacted
    ) {
      yield* changing(userId, repository.set(userId, key, value))
      yield* Effect.logInfo("Credential set").pipe(Effect.annotateLogs({ userId, credential: key }))
    })

    /**
     * Transfers the model keys to another user, except for providers for which that user has a key; returns the
     * transferred keys. Joins the running transaction.
     */
    const moveModelKeys = Effect.fn("CredentialVault.moveModelKeys")(function* (from: UserId, to: UserId) {
      const [values, known] = [yield* repository.decrypt(from, modelCredentialKeys), yield* repository.listKeys(to)]
      const moved = yield* Effect.filter(modelCredentialKeys, (key) => {
        const value = values[key]
        return value === undefined || known.includes(key)
          ? Effect.succeed(false)
          : Effect.as(changing(to, repository.set(to, key, value)), true)
      })
      yield* changing(from, repository.remove(from, modelCredentialKeys))
      return moved
    })

    const remove = Effect.fn("CredentialVault.remove")(function* (
      userId: UserId,
      keys: ReadonlyArray<StoredCredentialKey>
    ) {
      const removed = yield* changing(userId, repository.remove(userId, keys))
      if (removed > 0)
        yield* Effect.logInfo("Credentials removed").pipe(Effect.annotateLogs({ userId, credentials: removed }))
    })

    return {
      set,
      setModelKey,
      hasModelKey,
      moveModelKeys,
      remove,
      removeSince: (userId: UserId, since: DateTime.Utc) => changing(userId, repository.removeSince(userId, since)),
      findConfigured,
      readModelKeys,
      readChannelTokens
    }
  })
}) {}
