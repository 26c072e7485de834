import { Schema } from "effect"
import type { JobKind } from "../../jobs/JobKind.ts"

/** Sends a reset link if the address belongs to an account; only the worker looks up the account. */
export const SendPasswordResetJob = {
  queue: "mail",
  name: "forgotten-password",
  payload: Schema.Struct({ email: Schema.String })
} as const satisfies JobKind<{ readonly email: string }, { readonly email: string }>
