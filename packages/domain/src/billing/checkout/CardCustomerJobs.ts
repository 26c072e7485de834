import { Schema } from "effect"
import { CustomerId } from "./CardProcessor.ts"
import { defineJob } from "../../jobs/JobKind.ts"

/**
 * Deletes the processor's customers of a deleted account. The payload names the customers, since the account no longer
 * exists.
 */
export const RemoveCardCustomersJob = defineJob({
  queue: "tasks",
  name: "forget-card-customers",
  payload: Schema.Struct({ customerIds: Schema.Array(CustomerId) })
})
