import { Schema } from "effect"
import { defineJob } from "../../jobs/JobKind.ts"

export const ApplyCardEventJob = defineJob({
  queue: "card-events",
  name: "apply-card-event",
  payload: Schema.Struct({ eventId: Schema.String })
})
