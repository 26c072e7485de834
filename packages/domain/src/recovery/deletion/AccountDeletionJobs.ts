import { Schema } from "effect"
import { UserId } from "../../shared/UserId.ts"
import type { JobKind } from "../../jobs/JobKind.ts"

/** Deletes the rows, the instance and the files of a deleted account. */
export const RemoveAccountJob = {
  queue: "tasks",
  name: "remove-account",
  payload: Schema.Struct({ userId: UserId })
} as const satisfies JobKind<{ readonly userId: UserId }, { readonly userId: string }>
