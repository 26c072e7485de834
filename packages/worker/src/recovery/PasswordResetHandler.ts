import { parseEmail } from "@berth/domain/shared/Email"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResetJobs"

/** Mails a link to whoever has forgotten his password, if the address is anybody's. Doing it again changes nothing. */
export const handlePasswordReset = Effect.fn("PasswordResetHandler.handle")(function* (job: RunningJob) {
  const mails = yield* PasswordResetMails
  const email = yield* Effect.flatMap(Schema.decodeUnknown(SendPasswordResetJob.payload)(job.payload), (payload) =>
    parseEmail(payload.email)
  ).pipe(
    Effect.mapError(
      () => new JobPermanentlyFailed({ reason: `the payload is not that of ${SendPasswordResetJob.name}` })
    )
  )
  // The id of a job is that of the request, and stays the same however often it runs.
  yield* mails.send(job.id, email)
})
