import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { deliverMail } from "@berth/domain/mail/MailOutbox"
import { Effect, Schema } from "effect"
import { SendMailJob } from "@berth/domain/mail/MailJobs"

/**
 * Hands a mail on. A worker that dies before the job is settled hands it on again, as the same mail. One that nobody takes goes to the
 * dead letters at once, and while nobody answers it is tried again.
 */
export const handleMailDelivery = Effect.fn("MailDeliveryHandler.handle")(function* (job: RunningJob) {
  const written = yield* Effect.mapError(
    Schema.decodeUnknown(SendMailJob.payload)(job.payload),
    () => new JobPermanentlyFailed({ reason: `the payload is not that of ${SendMailJob.name}` })
  )
  yield* Effect.annotateCurrentSpan({ "mail.id": written.mailId })
  yield* deliverMail(written).pipe(
    Effect.catchTags({
      SecretUndecryptable: ({ reason }) => new JobPermanentlyFailed({ reason: `the mail does not open: ${reason}` }),
      ParseError: () => new JobPermanentlyFailed({ reason: "what was sealed is no mail" }),
      MailRejected: ({ message }) => new JobPermanentlyFailed({ reason: message })
    })
  )
  yield* Effect.logInfo("A mail was sent").pipe(Effect.annotateLogs({ mailId: written.mailId }))
})
