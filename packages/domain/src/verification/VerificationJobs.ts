import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { VerificationId } from "./Verification.ts"

const Payload = Schema.Struct({ verificationId: VerificationId })

/** Compares a verification with the chain. */
export const CheckVerificationJob = {
  queue: "tasks",
  name: "check-verification",
  payload: Payload,
  isCoalesced: true
} as const satisfies JobKind<typeof Payload.Type, typeof Payload.Encoded>
