import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"

const every = Duration.hours(1)

/** A payment whose time is over is in the books of the chain, and its challenge has long expired. */
export const sweep = Effect.gen(function* () {
  const redemptions = yield* PaymentRedemptions
  const removed = yield* redemptions.prune
  if (removed > 0) yield* Effect.logInfo("Old payments were forgotten").pipe(Effect.annotateLogs({ payments: removed }))
}).pipe(Effect.withSpan("OldPayments.sweep"))

export const layer = Layer.scopedDiscard(again("forget old payments", every, sweep))
