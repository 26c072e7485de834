import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { SendMail } from "@berth/domain/jobs/Job"
import { deliver } from "@berth/domain/mail/Post"
import { Effect, Schema } from "effect"

/**
 * Hands a mail on. A worker that dies before the job is settled hands it on again, as the same mail. One that nobody takes goes to the
 * dead letters at once, and while nobody answers it is tried again.
 */
export const sendMail = Effect.fn("SendMailJob")(function* (job: RunningJob) {
  const written = yield* Effect.mapError(
    Schema.decodeUnknown(SendMail.payload)(job.payload),
    () => new JobIsHopeless({ reason: `the payload is not that of ${SendMail.name}` })
  )
  yield* Effect.annotateCurrentSpan({ "mail.id": written.mailId })
  yield* deliver(written).pipe(
    Effect.catchTags({
      SecretDoesNotOpen: ({ reason }) => new JobIsHopeless({ reason: `the mail does not open: ${reason}` }),
      ParseError: () => new JobIsHopeless({ reason: "what was sealed is no mail" }),
      MailIsRefused: ({ message }) => new JobIsHopeless({ reason: message })
    })
  )
  yield* Effect.logInfo("A mail was sent").pipe(Effect.annotateLogs({ mailId: written.mailId }))
})
