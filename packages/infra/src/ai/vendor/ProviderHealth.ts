import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { ProviderName } from "@berth/domain/ai/models/Model"
import { Effect } from "effect"
import type { VendorFailure } from "./VendorErrors.ts"

/** Whether a vendor answers the cheapest call that needs a key. */
export const checkProviderHealth = (
  provider: ProviderName,
  cheapest: Effect.Effect<void, VendorFailure>,
  failure: (refusal: VendorFailure) => ProviderFailed
): Effect.Effect<boolean> =>
  cheapest.pipe(
    Effect.as(true),
    Effect.catchAll((refusal) => {
      // Too busy with us, but there.
      if (refusal._tag === "VendorRequestRejected" && refusal.status === 429) return Effect.succeed(true)
      const { kind, reason } = failure(refusal)
      return Effect.logDebug("A model provider is not healthy").pipe(
        Effect.annotateLogs({ provider, kind, reason }),
        Effect.as(false)
      )
    })
  )
