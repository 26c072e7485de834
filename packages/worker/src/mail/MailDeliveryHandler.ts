import { JobPermanentlyFailed } from "@berth/domain/jobs/JobQueue"
import { SendMailJob } from "@berth/domain/mail/MailJobs"
import { deliverMail } from "@berth/domain/mail/MailOutbox"
import { DateTime, Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Retries use the same message id. Expired, rejected and unreadable mails fail permanently. */
export const mailDeliveryHandler = jobHandler(SendMailJob, (sealedMail) =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan({ "mail.id": sealedMail.mailId })
    if (DateTime.greaterThanOrEqualTo(yield* DateTime.now, sealedMail.expiresAt))
      return yield* new JobPermanentlyFailed({ reason: "The mail expired before it could be sent" })
    yield* deliverMail(sealedMail).pipe(
      Effect.catchTags({
        SecretUndecryptable: ({ reason }) =>
          new JobPermanentlyFailed({ reason: `The mail cannot be opened: ${reason}` }),
        ParseError: () => new JobPermanentlyFailed({ reason: "The sealed content is not a mail" }),
        MailRejected: ({ message }) => new JobPermanentlyFailed({ reason: message })
      })
    )
    yield* Effect.logInfo("Mail sent").pipe(Effect.annotateLogs({ mailId: sealedMail.mailId }))
  })
)
