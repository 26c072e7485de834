import type { ProviderName } from "@berth/domain/ai/Model"
import type { ProviderFailed } from "@berth/domain/ai/ModelChat"
import { Effect } from "effect"
import type { WireFailure } from "./WireFailure.ts"

/** Whether a vendor answers the cheapest call that needs a key. */
export const healthOf = (
  provider: ProviderName,
  cheapest: Effect.Effect<void, WireFailure>,
  failure: (refusal: WireFailure) => ProviderFailed
): Effect.Effect<boolean> =>
  cheapest.pipe(
    Effect.as(true),
    Effect.catchAll((refusal) => {
      // Too busy with us, but there.
      if (refusal._tag === "VendorRefused" && refusal.status === 429) return Effect.succeed(true)
      const { kind, reason } = failure(refusal)
      return Effect.logDebug("A model provider is not healthy").pipe(
        Effect.annotateLogs({ provider, kind, reason }),
        Effect.as(false)
      )
    })
  )
