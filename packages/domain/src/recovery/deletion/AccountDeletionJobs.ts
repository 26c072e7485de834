import { Schema } from "effect"
import { UserId } from "../../shared/UserId.ts"
import { defineJob } from "../../jobs/JobKind.ts"

/** Deletes the rows of an account. */
export const RemoveAccountJob = defineJob({
  queue: "tasks",
  name: "remove-account",
  payload: Schema.Struct({ userId: UserId })
})

/** The rows of an account are deleted; removes its instance and files. */
export const AccountRemovedJob = defineJob({
  queue: "tasks",
  name: "remove-instance",
  payload: Schema.Struct({ userId: UserId })
})
