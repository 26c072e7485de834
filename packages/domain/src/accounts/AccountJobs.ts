import { Schema } from "effect"
import { UserId } from "../shared/UserId.ts"
import { defineJob } from "../jobs/JobKind.ts"

/** A user confirmed an email address: stored card events can belong to the user. */
export const EmailAddressConfirmedJob = defineJob({
  queue: "card-events",
  name: "match-card-events",
  payload: Schema.Struct({ userId: UserId })
})
