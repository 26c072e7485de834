import { Schema } from "effect"
import type { JobKind } from "../../jobs/JobKind.ts"

/** Applies an event of the card processor. */
export const ApplyCardEventJob = {
  queue: "card-events",
  name: "apply-card-event",
  payload: Schema.Struct({ eventId: Schema.String })
} as const satisfies JobKind<{ readonly eventId: string }, { readonly eventId: string }>
