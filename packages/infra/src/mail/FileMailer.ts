import type { Mail } from "@berth/domain/mail/Mail"
import { Mailer, MailServiceUnavailable } from "@berth/domain/mail/Mailer"
import { Effect, Layer } from "effect"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { createTransport } from "nodemailer"
import { writeFileAtomically } from "../files/AtomicFile.ts"
import { makeDataDirectory } from "../files/DataDirectory.ts"
import { type MailEnvelope, type MailSender, prepareMail } from "./MailEnvelope.ts"

interface FileMailerOptions {
  /** Parent of `mail/`, which is created if absent. */
  readonly dataDirectory: string
  readonly from: MailSender
  /** For development only, since the link of a mail can grant access. */
  readonly logsLinks: boolean
}

const findLink = (text: string) => /https?:\/\/\S+/.exec(text)?.[0]

const bytesOf = (message: unknown): Promise<Uint8Array> =>
  message instanceof Uint8Array ? Promise.resolve(message) : Promise.reject(new Error("the library wrote no bytes"))

/** Writes mails to `mail/<id>.eml` for development. Atomic and idempotent. */
export const layer = ({ dataDirectory, from, logsLinks }: FileMailerOptions): Layer.Layer<Mailer> =>
  Layer.sync(Mailer, () => {
    const directory = join(dataDirectory, "mail")
    const transport = createTransport({ streamTransport: true, buffer: true, newline: "windows" })

    const write = async (id: string, message: MailEnvelope) => {
      const bytes = await bytesOf((await transport.sendMail(message)).message)
      await makeDataDirectory(dataDirectory)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFileAtomically(join(directory, `${id}.eml`), bytes)
    }

    return Mailer.of({
      send: Effect.fn("Mailer.send")(function* (mail: Mail) {
        const message = yield* prepareMail(mail, from)
        yield* Effect.tryPromise({
          try: () => write(mail.id, message),
          catch: (cause) =>
            new MailServiceUnavailable({
              reason: `cannot write the file (${cause instanceof Error && "code" in cause ? String(cause.code) : "?"})`
            })
        })
        if (logsLinks)
          yield* Effect.logInfo("Mail written").pipe(
            Effect.annotateLogs({ to: mail.to, subject: mail.subject, link: findLink(mail.text) })
          )
      })
    })
  })
