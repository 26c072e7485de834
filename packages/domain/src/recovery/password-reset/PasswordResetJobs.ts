import { Schema } from "effect"
import { defineJob } from "../../jobs/JobKind.ts"

/** Sends a reset link if the address belongs to an account; only the worker looks up the account. */
export const SendPasswordResetJob = defineJob({
  queue: "mail",
  name: "forgotten-password",
  payload: Schema.Struct({ email: Schema.String })
})
