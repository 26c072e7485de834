import { Schema } from "effect"
import { MailId } from "./Mail.ts"
import type { JobKind } from "../jobs/JobKind.ts"

/** Sends a mail. The draft is sealed because it may hold a link that grants access. */
export const SendMailJob = {
  queue: "tasks",
  name: "send-mail",
  payload: Schema.Struct({ mailId: MailId, sealed: Schema.String })
} as const satisfies JobKind<
  { readonly mailId: MailId; readonly sealed: string },
  { readonly mailId: string; readonly sealed: string }
>
