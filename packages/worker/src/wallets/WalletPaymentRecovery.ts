import { PaymentDispatch } from "@berth/domain/wallets/payments/PaymentDispatch"
import { Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = Duration.seconds(10)

/** Advances payments of dead processes, and payments that the chain had not decided. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(PaymentDispatch, ({ recover }) => runRecurringTask("recover wallet payments", every, recover))
)
