import { Schema } from "effect"
import { UserId } from "../shared/UserId.ts"
import type { JobKind } from "../jobs/JobKind.ts"

/** A user confirmed an email address: stored card events can belong to the user. */
export const EmailAddressConfirmedJob = {
  queue: "card-events",
  name: "match-card-events",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>
