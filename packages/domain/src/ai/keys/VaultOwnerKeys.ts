import { Cache, Duration, Effect, Layer } from "effect"
import { OwnerKeys } from "./OwnerKeys.ts"
import { CredentialVault } from "../../secrets/CredentialVault.ts"
import type { UserId } from "../../shared/UserId.ts"

/** How long a key that was replaced may still be used, and a new one not yet. */
const age = Duration.seconds(2)
const ownersAtOnce = 1_000

/** An owner's model keys from the vault, read once in a while: a turn of several model calls costs one statement, if any. */
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
      // One caller that leaves in the middle of a look-up would take it from everybody else who waits for it; and a
      // failure is nobody's key.
      find: (userId) => Effect.uninterruptible(Effect.onError(keys.get(userId), () => keys.invalidate(userId)))
    })
  })
)
