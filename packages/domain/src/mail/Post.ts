import { Effect, Redacted, Schema } from "effect"
import type { UserId } from "../accounts/User.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { SendMail } from "../jobs/Job.ts"
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
export class Post extends Effect.Service<Post>()("@berth/Post", {
  effect: Effect.gen(function* () {
    const ids = yield* IdGenerator
    const box = yield* SecretBox
    const outbox = yield* Outbox

    /** Joins the running transaction. `owner` is the user whose turn it takes. */
    const write = Effect.fn("Post.write")(function* (mail: Omit<Mail, "id">, owner: UserId) {
      const id = MailId.make(yield* ids.next("mal"))
      const sealed = yield* box.seal(Redacted.make(encodeLetter({ ...mail, id })), contextOf(id))
      yield* outbox.append(SendMail, { mailId: id, sealed }, owner)
    })

    return { write }
  })
}) {}

/** Opens a mail that was written, and hands it on. What does not open never will; that is a `ParseError` or `SecretDoesNotOpen`. */
export const deliver = Effect.fn("Post.deliver")(function* (written: typeof SendMail.payload.Type) {
  const box = yield* SecretBox
  const mailer = yield* Mailer
  const letter = yield* box.open(written.sealed, contextOf(written.mailId))
  yield* mailer.send(yield* decodeLetter(Redacted.value(letter)))
})
