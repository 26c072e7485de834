import { AccountRemoval } from "@berth/domain/accounts/AccountRemoval"
import { PasswordResetMails } from "@berth/domain/accounts/PasswordResetMails"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import type { CardProcessor } from "@berth/domain/billing/CardProcessor"
import { ForgottenPassword, SendMail } from "@berth/domain/jobs/Job"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import type { Mail } from "@berth/domain/mail/Mail"
import { Mailer, type MailIsRefused, type MailIsUnavailable } from "@berth/domain/mail/Mailer"
import { Post } from "@berth/domain/mail/Post"
import type { AgentManager } from "@berth/domain/instances/AgentManager"
import type { SecretBox } from "@berth/domain/secrets/SecretBox"
import { handlerOf } from "@berth/worker/jobs/JobHandlers"
import { Context, Effect, Layer, Option, Ref } from "effect"
import { tokenIn } from "./MailText.ts"

/** Every mail of a service, with nobody between it and who looks. */
export class Mailbox extends Context.Tag("@berth/test/Mailbox")<
  Mailbox,
  {
    /** What was sent so far, the oldest first. */
    readonly sent: Effect.Effect<ReadonlyArray<Mail>>
    /** Runs an effect while sending fails. */
    readonly whileFailing: (
      failure: MailIsRefused | MailIsUnavailable
    ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}

const collecting = Layer.effectContext(
  Effect.gen(function* () {
    const sent = yield* Ref.make<ReadonlyArray<Mail>>([])
    const failing = yield* Ref.make<Option.Option<MailIsRefused | MailIsUnavailable>>(Option.none())
    return Context.make(Mailbox, {
      sent,
      whileFailing: (failure) => (effect) =>
        Effect.acquireUseRelease(
          Ref.set(failing, Option.some(failure)),
          () => effect,
          () => Ref.set(failing, Option.none())
        )
    }).pipe(
      Context.add(Mailer, {
        send: (mail) =>
          Effect.flatMap(
            failing,
            Option.match({ onNone: () => Ref.update(sent, (so) => [...so, mail]), onSome: Effect.fail })
          )
      })
    )
  })
)

/** Mails that are collected instead of sent, and what the worker needs besides to send them. */
export const layer = Layer.merge(collecting, Layer.provide(PasswordResetMails.Default, Post.Default))

const isAboutMail = ({ name }: OutboxEntry) => name === SendMail.name || name === ForgottenPassword.name

/** What mails have nothing to do with. */
const nothingElse = Layer.merge(
  Layer.mock(AccountRemoval, { _tag: "@berth/AccountRemoval" }),
  Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects" })
)

type Worked = Outbox | CardProcessor | Mailer | PasswordResetMails | SecretBox | AgentManager

/** The work of a worker, as far as it is about mail, until there is none; answers the jobs. */
export const workOffMail: Effect.Effect<ReadonlyArray<OutboxEntry>, never, Worked> = Effect.gen(function* () {
  const outbox = yield* Outbox
  const done = yield* Ref.make<ReadonlyArray<OutboxEntry>>([])
  const handle = (entry: OutboxEntry) =>
    isAboutMail(entry)
      ? handlerOf(entry.queue)({ ...entry, attempt: 1, attempts: 5 }).pipe(
          Effect.provide(nothingElse),
          Effect.zipRight(Ref.update(done, (so) => [...so, entry])),
          Effect.orDie
        )
      : Effect.void
  yield* Effect.repeat(
    outbox.relay(100, (entry) => Effect.zipRight(handle(entry), outbox.settle(entry.id))),
    { until: (count) => count === 0 }
  )
  return yield* done
})

/** What has been mailed to an address by the time all mail is out, the oldest first. */
export const mailsTo = (address: string) =>
  Effect.gen(function* () {
    yield* workOffMail
    const { sent } = yield* Mailbox
    return (yield* sent).filter(({ to }) => to.toLowerCase() === address.toLowerCase())
  })

const lastToken = (path: string) => (address: string) =>
  Effect.map(mailsTo(address), (mails) => {
    const tokens = mails.map(({ text }) => tokenIn(text, path)).filter((token) => token !== "")
    return tokens.at(-1) ?? ""
  })

/** The token of the last link for a new password that was mailed to an address; empty when there is none. */
export const resetToken = lastToken("/reset-password")
/** The same of the last link that confirms an address. */
export const verificationToken = lastToken("/api/auth/verify-email")
