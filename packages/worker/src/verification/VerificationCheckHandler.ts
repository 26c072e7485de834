import { VerificationChecks } from "@berth/domain/verification/VerificationChecks"
import { CheckVerificationJob } from "@berth/domain/verification/VerificationJobs"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

export const verificationCheckHandler = jobHandler(CheckVerificationJob, ({ verificationId }) =>
  Effect.flatMap(VerificationChecks, ({ check }) => check(verificationId))
)
