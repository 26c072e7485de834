import { Schema } from "effect"
import { defineJob } from "../jobs/JobKind.ts"
import { VerificationId } from "./Verification.ts"

export const CheckVerificationJob = defineJob({
  queue: "tasks",
  name: "check-verification",
  payload: Schema.Struct({ verificationId: VerificationId }),
  isCoalesced: true
})
