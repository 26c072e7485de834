import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { SendMailJob } from "@berth/domain/mail/MailOutbox"
import { MailId } from "@berth/domain/mail/Mail"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { Email } from "@berth/domain/shared/Email"
import * as SmtpMailer from "@berth/infra/mail/SmtpMailer"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import { findRetryPolicy, mailDeliveryHandler } from "@berth/worker/jobs/JobHandlers"
import { assert, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, Redacted, Ref, Schema } from "effect"
import { makeFakeSmtpServer } from "../fakes/FakeSmtpServer.ts"
import { freshDatabase } from "../support/Databases.ts"
import { eventually } from "../support/Eventually.ts"

const plainBox = Layer.succeed(SecretBox, {
  seal: (secret) => Effect.succeed(Redacted.value(secret)),
  open: (sealed) => Effect.succeed(Redacted.make(sealed))
})

const encodePayload = Schema.encodeSync(SendMailJob.payload)

const mailJob = (id: string, expiresAt: DateTime.Utc) => {
  const mailId = MailId.make(id)
  const mail = { id: mailId, to: Email.make("ada@example.com"), subject: id, text: "A link\n" }
  return {
    id,
    queue: SendMailJob.queue,
    name: SendMailJob.name,
    payload: encodePayload({ mailId, sealed: JSON.stringify(mail), expiresAt }),
    trace: null
  }
}

/** Attempts of a job without its own policy. */
const usualAttempts = 5

it.scopedLive("Mail is delivered once a stopped server is back, and is no dead letter while its link is valid", () =>
  Effect.gen(function* () {
    const inbox = yield* makeFakeSmtpServer()
    yield* inbox.stop
    const runs = yield* Ref.make(0)
    const test = Effect.gen(function* () {
      const queue = yield* JobQueue
      yield* queue.consume(
        "mail",
        { concurrency: 2, drain: "5 seconds", retryPolicy: findRetryPolicy("mail") },
        (job) =>
          Effect.zipRight(
            Ref.update(runs, (count) => count + 1),
            mailDeliveryHandler.handle(job)
          )
      )
      const now = yield* DateTime.now
      yield* queue.add(mailJob("mal_valid", DateTime.add(now, { hours: 1 })))
      yield* eventually(Ref.get(runs), (count) => count > usualAttempts)
      assert.deepStrictEqual(yield* queue.deadLetters("mail", 10), [])
      assert.deepStrictEqual(yield* inbox.received, [])
      yield* queue.add(mailJob("mal_expired", now))
      const letters = yield* eventually(queue.deadLetters("mail", 10), ({ length }) => length > 0)
      assert.deepStrictEqual(
        letters.map(({ id, reason }) => [id, reason]),
        [["mal_expired", "The mail expired before it could be sent"]]
      )
      yield* inbox.restart
      const mails = yield* eventually(inbox.received, ({ length }) => length > 0)
      assert.lengthOf(mails, 1)
      assert.include(mails[0]?.source, "Subject: mal_valid")
      yield* eventually(queue.counts("mail"), ({ completed }) => completed === 1)
    })
    const layers = Layer.mergeAll(
      plainBox,
      SmtpMailer.layer({
        url: Redacted.make(new URL(`smtp://127.0.0.1:${inbox.port}`)),
        from: { name: "Berth", address: "no-reply@berth.example" }
      }),
      PostgresJobQueue.layer({
        url: yield* freshDatabase,
        schema: "queues",
        firstRetryPause: Duration.millis(10)
      })
    )
    yield* Effect.provide(test, layers)
  })
)
