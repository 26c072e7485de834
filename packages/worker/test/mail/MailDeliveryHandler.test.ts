import { Email } from "@berth/domain/shared/Email"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { type JobKind } from "@berth/domain/jobs/JobKind"
import { Outbox } from "@berth/domain/jobs/Outbox"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import { type Mail, MailId } from "@berth/domain/mail/Mail"
import { Mailer, MailRejected, MailServiceUnavailable } from "@berth/domain/mail/Mailer"
import { MailOutbox, SendMailJob } from "@berth/domain/mail/MailOutbox"
import { SecretBox, SecretUndecryptable } from "@berth/domain/secrets/SecretBox"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, Ref, Schema, TestClock } from "effect"
import { mailDeliveryHandler } from "@berth/worker/jobs/JobHandlers"
import { UserId } from "@berth/domain/shared/UserId"

const draft = { to: Email.make("ada@example.com"), subject: "Hello", text: "A link with hunter2\n" }

/** The sealed text contains its context. */
const box = Layer.succeed(SecretBox, {
  seal: (secret, context) => Effect.succeed(Buffer.from(`${context}|${Redacted.value(secret)}`).toString("base64")),
  open: (sealed, context) => {
    const text = Buffer.from(sealed, "base64").toString()
    return text.startsWith(`${context}|`)
      ? Effect.succeed(Redacted.make(text.slice(context.length + 1)))
      : new SecretUndecryptable({ reason: "another context" })
  }
})

/** The payload that MailOutbox appends. */
const appendPayload = (lifetime?: Duration.Duration) =>
  Effect.gen(function* () {
    const entries = yield* Ref.make<ReadonlyArray<unknown>>([])
    const outbox = Layer.mock(Outbox, {
      append: <A, I>(kind: JobKind<A, I>, payload: A) =>
        Effect.flatMap(Effect.orDie(Schema.encode(kind.payload)(payload)), (encoded) =>
          Ref.update(entries, (current) => [...current, encoded])
        )
    })
    const ids = Layer.succeed(IdGenerator, { next: (prefix) => Effect.succeed(`${prefix}_7` as const) })
    yield* Effect.flatMap(MailOutbox, (mails) =>
      mails.append({ ...draft, ...(lifetime === undefined ? {} : { lifetime }) }, UserId.make("usr_1"))
    ).pipe(Effect.provide(MailOutbox.Default.pipe(Layer.provide([outbox, ids, box]))))
    const [payload] = yield* entries
    return payload
  })
const appendedPayload = appendPayload()

const run = (payload: unknown, send: (mail: Mail) => Effect.Effect<void, MailRejected | MailServiceUnavailable>) => {
  const job: RunningJob = {
    id: "job_1",
    name: SendMailJob.name,
    payload,
    trace: null,
    attempt: 1,
    isLastAttempt: false
  }
  return Effect.provide(mailDeliveryHandler.handle(job), [Layer.succeed(Mailer, { send }), box])
}

describe("handleMailDelivery", () => {
  it.effect("handleMailDelivery sends the stored mail with the same id on every run", () =>
    Effect.gen(function* () {
      const payload = yield* appendedPayload
      assert.notInclude(JSON.stringify(payload), "ada@example.com")
      const sent = yield* Ref.make<ReadonlyArray<Mail>>([])
      const send = (mail: Mail) => Ref.update(sent, (current) => [...current, mail])
      yield* run(payload, send)
      yield* run(payload, send)
      assert.deepEqual(yield* sent, [
        { ...draft, id: MailId.make("mal_7") },
        { ...draft, id: MailId.make("mal_7") }
      ])
    })
  )

  it.effect("handleMailDelivery fails with MailServiceUnavailable during an outage, so that the job is retried", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        run(yield* appendedPayload, () => Effect.fail(new MailServiceUnavailable({ reason: "ECONNREFUSED" })))
      )
      assert.strictEqual(failure._tag, "MailServiceUnavailable")
    })
  )

  it.effect("handleMailDelivery fails permanently once the mail has expired, by default after a day", () =>
    Effect.gen(function* () {
      const payloads = [yield* appendPayload(Duration.hours(1)), yield* appendedPayload]
      const outcomes = Effect.forEach(payloads, (payload) =>
        Effect.either(run(payload, () => Effect.void)).pipe(Effect.map((either) => either._tag))
      )
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(yield* outcomes, ["Right", "Right"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* outcomes, ["Left", "Right"])
      yield* TestClock.adjust("23 hours")
      assert.deepStrictEqual(yield* outcomes, ["Left", "Left"])
      const failure = yield* Effect.flip(run(yield* Effect.succeed(payloads[0]), () => Effect.void))
      assert.strictEqual(failure._tag, "JobPermanentlyFailed")
    })
  )

  it.effect("handleMailDelivery fails permanently for a rejected or undecryptable mail", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(
        run(yield* appendedPayload, () => Effect.fail(new MailRejected({ reason: "EENVELOPE 550" })))
      )
      assert.deepInclude(refused, { _tag: "JobPermanentlyFailed", reason: "The mail is rejected: EENVELOPE 550" })
      const { expiresAt, sealed } = yield* Schema.decodeUnknown(Schema.encodedSchema(SendMailJob.payload))(
        yield* appendedPayload
      )
      const other = { expiresAt, sealed, mailId: "mal_8" }
      const noMail = { expiresAt, mailId: "mal_7", sealed: Buffer.from('mail mal_7|{"hunter2":1}').toString("base64") }
      for (const payload of [other, noMail]) {
        const failure = yield* Effect.flip(run(payload, () => Effect.void))
        assert.strictEqual(failure._tag, "JobPermanentlyFailed")
        assert.notInclude(failure.message, "hunter2")
      }
    })
  )
})
