import type { Mail } from "@berth/domain/mail/Mail"
import { Mailer, MailRejected, MailServiceUnavailable } from "@berth/domain/mail/Mailer"
import { Duration, Effect, Layer, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { type MailSender, prepareMail } from "./MailEnvelope.ts"
import { isLoopback } from "../net/ListenHosts.ts"

interface SmtpMailerOptions {
  /** `smtp://` or `smtps://`, with optional user and password. */
  readonly url: Redacted.Redacted<URL>
  readonly from: MailSender
  /** Idle timeout of the connection; default: 30 s. */
  readonly idleTimeout?: Duration.Duration
}

const plainHost = (hostname: string) => hostname.replace(/^\[|\]$/g, "")

/** System, library and SMTP codes only, since the server's text may quote addresses. */
const reasonOf = (error: unknown): string => {
  const part = (name: string) =>
    Predicate.hasProperty(error, name) && (Predicate.isString(error[name]) || Predicate.isNumber(error[name]))
      ? [String(error[name])]
      : []
  const parts = [...part("originalCode"), ...part("code"), ...part("responseCode")]
  return parts.length === 0 ? "no reason given" : parts.join(" ")
}

/** A 5xx for this mail or its recipient is permanent; a failed login is independent of the mail. */
const isPermanent = (error: unknown): boolean =>
  Predicate.hasProperty(error, "permanent") &&
  error.permanent === true &&
  Predicate.hasProperty(error, "code") &&
  (error.code === "EENVELOPE" || error.code === "EMESSAGE")

/** Sends each mail over a new SMTP connection. A password requires TLS, except on loopback. */
export const layer = ({ from, idleTimeout = Duration.seconds(30), url }: SmtpMailerOptions): Layer.Layer<Mailer> =>
  Layer.sync(Mailer, () => {
    const { hostname, password, port, protocol, username } = Redacted.value(url)
    const isSecure = protocol === "smtps:"
    const limit = Duration.toMillis(idleTimeout)
    const transport = createTransport({
      host: plainHost(hostname),
      ...(port === "" ? {} : { port: Number(port) }),
      secure: isSecure,
      requireTLS: !isSecure && username !== "" && !isLoopback(hostname),
      ...(username === "" ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      connectionTimeout: limit,
      greetingTimeout: limit,
      socketTimeout: limit,
      dnsTimeout: limit
    })
    return Mailer.of({
      send: Effect.fn("Mailer.send")(function* (mail: Mail) {
        const message = yield* prepareMail(mail, from)
        yield* Effect.tryPromise({
          try: () => transport.sendMail(message),
          catch: (error) =>
            isPermanent(error)
              ? new MailRejected({ reason: reasonOf(error) })
              : new MailServiceUnavailable({ reason: reasonOf(error) })
        })
      })
    })
  })
