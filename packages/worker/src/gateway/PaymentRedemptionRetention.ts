import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { Effect } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

/** A payment whose time is over is in the books of the chain, and its challenge has long expired. */
export const layer = runHourlyTask(
  {
    span: "PaymentRedemptionRetention.run",
    task: "forget old payments",
    done: "Old payments were forgotten",
    kind: "payments"
  },
  Effect.flatMap(PaymentRedemptions, ({ prune }) => prune)
)
