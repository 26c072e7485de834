import { DateTime, Duration, Effect, Redacted, Schema } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { SecretBox } from "../secrets/SecretBox.ts"
import { Mail, MailId } from "./Mail.ts"
import { Mailer } from "./Mailer.ts"
import type { UserId } from "../shared/UserId.ts"
import { defineJob } from "../jobs/JobKind.ts"
import { unlimitedRetries } from "../jobs/JobRetryPolicy.ts"

/** Sends a mail, with retries until it expires. The draft is sealed, since it may contain a link that grants access. */
export const SendMailJob = defineJob({
  queue: "mail",
  name: "send-mail",
  payload: Schema.Struct({
    mailId: MailId,
    sealed: Schema.String,
    /** Time after which the mail is useless, for example because its link expires. */
    expiresAt: Schema.DateTimeUtc
  }),
  retryPolicy: unlimitedRetries
})

export interface MailDraft extends Omit<Mail, "id"> {
  /** Time during which the mail is useful, usually that of its link; default: one day. */
  readonly lifetime?: Duration.Duration
}

const defaultLifetime = Duration.days(1)

const contextOf = (id: MailId) => `mail ${id}`

const SealedMail = Schema.parseJson(Mail)
const encodeMail = Schema.encodeSync(SealedMail)
const decodeMail = Schema.decode(SealedMail)

/** Mails to send, delivered by the worker at least once. Stored and queued sealed, since their links grant access. */
export class MailOutbox extends Effect.Service<MailOutbox>()("@berth/MailOutbox", {
  effect: Effect.gen(function* () {
    const ids = yield* IdGenerator
    const box = yield* SecretBox
    const outbox = yield* Outbox

    /** Joins the running transaction. Jobs of an `owner` alternate with those of others. */
    const append = Effect.fn("MailOutbox.append")(function* (
      { lifetime = defaultLifetime, ...draft }: MailDraft,
      owner: UserId
    ) {
      const id = MailId.make(yield* ids.next("mal"))
      const sealed = yield* box.seal(Redacted.make(encodeMail({ ...draft, id })), contextOf(id))
      const expiresAt = DateTime.addDuration(yield* DateTime.now, lifetime)
      yield* outbox.append(SendMailJob, { mailId: id, sealed, expiresAt }, owner)
    })

    return { append }
  })
}) {}

/** Opens and sends a stored mail. `ParseError` and `SecretUndecryptable` are permanent failures. */
export const deliverMail = Effect.fn("MailOutbox.deliver")(function* (
  stored: Pick<typeof SendMailJob.payload.Type, "mailId" | "sealed">
) {
  const box = yield* SecretBox
  const mailer = yield* Mailer
  const text = yield* box.open(stored.sealed, contextOf(stored.mailId))
  yield* mailer.send(yield* decodeMail(Redacted.value(text)))
})
