import { Purchases } from "@berth/domain/billing/Purchases"
import { Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"
import { hourly } from "../jobs/Hourly.ts"

const every = Duration.minutes(1)

/** Charges that nobody heard the end of are looked up, so that what was paid is there although a process died behind it. */
const settled = Layer.scopedDiscard(
  again(
    "look up charges",
    every,
    Effect.flatMap(Purchases, ({ settleOpen }) => settleOpen).pipe(
      Effect.tap((count) =>
        count > 0 ? Effect.logInfo("Charges were looked up").pipe(Effect.annotateLogs({ charges: count })) : Effect.void
      )
    )
  )
)

const old = hourly(
  {
    span: "OldPurchaseAttempts.sweep",
    task: "forget old attempts to buy",
    done: "Old attempts to buy were forgotten",
    kind: "attempts"
  },
  Effect.flatMap(Purchases, ({ prune }) => prune)
)

export const layer = Layer.merge(settled, old)
