import { Effect, Redacted, Schema } from "effect"
import type { UserId } from "../shared/User.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { SendMailJob } from "../jobs/JobKind.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { SecretBox } from "../secrets/SecretBox.ts"
import { Mail, MailId } from "./Mail.ts"
import { Mailer } from "./Mailer.ts"

const contextOf = (id: MailId) => `mail ${id}`

const Letter = Schema.parseJson(Mail)
const encodeLetter = Schema.encodeSync(Letter)
const decodeLetter = Schema.decode(Letter)

/**
 * Mails on their way out. They leave by the worker, at least once, after the transaction that wrote them. Until then, and in the queue, they lie
 * sealed: the links in them open accounts.
 */
export class MailOutbox extends Effect.Service<MailOutbox>()("@berth/MailOutbox", {
  effect: Effect.gen(function* () {
    const ids = yield* IdGenerator
    const box = yield* SecretBox
    const outbox = yield* Outbox

    /** Joins the running transaction. `owner` is the user whose turn it takes. */
    const append = Effect.fn("MailOutbox.append")(function* (mail: Omit<Mail, "id">, owner: UserId) {
      const id = MailId.make(yield* ids.next("mal"))
      const sealed = yield* box.seal(Redacted.make(encodeLetter({ ...mail, id })), contextOf(id))
      yield* outbox.append(SendMailJob, { mailId: id, sealed }, owner)
    })

    return { append }
  })
}) {}

/** Opens a mail that was written, and hands it on. What does not open never will; that is a `ParseError` or `SecretUndecryptable`. */
export const deliverMail = Effect.fn("MailOutbox.deliver")(function* (written: typeof SendMailJob.payload.Type) {
  const box = yield* SecretBox
  const mailer = yield* Mailer
  const letter = yield* box.open(written.sealed, contextOf(written.mailId))
  yield* mailer.send(yield* decodeLetter(Redacted.value(letter)))
})
