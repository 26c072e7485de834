import { Schema } from "effect"
import { UserId } from "../../shared/UserId.ts"
import type { JobKind } from "../../jobs/JobKind.ts"

/** Deletes the rows of an account. */
export const RemoveAccountJob = {
  queue: "tasks",
  name: "remove-account",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>

/** The rows of an account are deleted; removes its instance and files. */
export const AccountRemovedJob = {
  queue: "tasks",
  name: "remove-instance",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>
