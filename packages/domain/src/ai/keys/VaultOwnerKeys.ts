import { Cache, Duration, Effect, Layer } from "effect"
import { OwnerKeys } from "./OwnerKeys.ts"
import { CredentialVault } from "../../secrets/CredentialVault.ts"
import type { UserId } from "../../shared/UserId.ts"

/** How long a replaced key can still be used. */
const age = Duration.seconds(2)
const ownersAtOnce = 1_000

/** Owners' model keys from the vault, cached for the model calls of a turn. */
export const layer = Layer.effect(
  OwnerKeys,
  Effect.gen(function* () {
    const vault = yield* CredentialVault
    const keys = yield* Cache.make({
      capacity: ownersAtOnce,
      lookup: (userId: UserId) => vault.readModelKeys(userId),
      timeToLive: age
    })
    return OwnerKeys.of({
      // Uninterruptible: other callers wait for the same lookup. Failures are not cached.
      find: (userId) => Effect.uninterruptible(Effect.onError(keys.get(userId), () => keys.invalidate(userId)))
    })
  })
)
