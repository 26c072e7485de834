import { Schema } from "effect"
import { defineJob } from "../../jobs/JobKind.ts"
import { UserId } from "../../shared/UserId.ts"

/** Deletes the prompts and the memory from before the claim of an account. */
export const ResetClaimedContentsJob = defineJob({
  queue: "tasks",
  name: "reset-claimed-contents",
  payload: Schema.Struct({ userId: UserId })
})
