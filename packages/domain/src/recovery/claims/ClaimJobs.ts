import { Schema } from "effect"
import type { JobKind } from "../../jobs/JobKind.ts"
import { UserId } from "../../shared/UserId.ts"

/** Deletes the prompts and the memory from before the claim of an account. */
export const ResetClaimedContentsJob = {
  queue: "tasks",
  name: "reset-claimed-contents",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>
