import type { Mail } from "@berth/domain/mail/Mail"
import { Mailer, validateMail } from "@berth/domain/mail/Mailer"
import { Context, Effect, Layer, Ref } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

/** Calls, deliveries and behavior of the mailer of `layer`. */
export class MailerTest extends Context.Tag("@berth/test/MailerTest")<
  MailerTest,
  TestPortHandle<Mail, Mailer["Type"]> & {
    /** Sent mails, oldest first. */
    readonly sent: Effect.Effect<ReadonlyArray<Mail>>
  }
>() {}

/** Stores every valid mail in memory, unless the behavior is replaced. */
export const layer: Layer.Layer<Mailer | MailerTest> = Layer.effectContext(
  Effect.gen(function* () {
    const sent = yield* Ref.make<ReadonlyArray<Mail>>([])
    const { handle, run } = yield* makeTestPort<Mail, Mailer["Type"]>({
      send: (mail) =>
        Effect.zipRight(
          validateMail(mail),
          Ref.update(sent, (before) => [...before, mail])
        )
    })
    return Context.make(Mailer, { send: (mail) => run(mail, ({ send }) => send(mail)) }).pipe(
      Context.add(MailerTest, { ...handle, sent: Ref.get(sent) })
    )
  })
)
