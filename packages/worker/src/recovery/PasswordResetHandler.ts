import { JobPermanentlyFailed } from "@berth/domain/jobs/JobQueue"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResetJobs"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { parseEmail } from "@berth/domain/shared/Email"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/**
 * Mails a reset link if the address belongs to an account. The job id identifies the request, so that retries send no
 * second mail.
 */
export const passwordResetHandler = jobHandler(SendPasswordResetJob, ({ email }, job) =>
  Effect.gen(function* () {
    const mails = yield* PasswordResetMails
    const address = yield* Effect.mapError(
      parseEmail(email),
      () => new JobPermanentlyFailed({ reason: "The payload holds no email address" })
    )
    yield* mails.send(job.id, address)
  })
)
