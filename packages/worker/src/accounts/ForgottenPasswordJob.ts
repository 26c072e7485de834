import { parseEmail } from "@berth/domain/accounts/Email"
import { PasswordResetMails } from "@berth/domain/accounts/PasswordResetMails"
import { ForgottenPassword } from "@berth/domain/jobs/Job"
import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"

/** Mails a link to whoever has forgotten his password, if the address is anybody's. Doing it again changes nothing. */
export const forgottenPassword = Effect.fn("ForgottenPasswordJob")(function* (job: RunningJob) {
  const mails = yield* PasswordResetMails
  const email = yield* Effect.flatMap(Schema.decodeUnknown(ForgottenPassword.payload)(job.payload), (payload) =>
    parseEmail(payload.email)
  ).pipe(Effect.mapError(() => new JobIsHopeless({ reason: `the payload is not that of ${ForgottenPassword.name}` })))
  // The id of a job is that of the request, and stays the same however often it runs.
  yield* mails.answer(job.id, email)
})
