import { Effect, type Scope } from "effect"
import { SMTPServer } from "smtp-server"

interface ReceivedMail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  /** Headers and body in wire format. */
  readonly source: string
}

export interface FakeSmtpServer {
  readonly port: number
  readonly received: Effect.Effect<ReadonlyArray<ReceivedMail>>
  /** Sets the reply code for recipients. Initially 250. */
  readonly answerRecipients: (code: number) => Effect.Effect<void>
  /** Rejects new connections in its greeting while true. */
  readonly turnAway: (yes: boolean) => Effect.Effect<void>
  /** Stops listening, so that connections are refused. */
  readonly stop: Effect.Effect<void>
  readonly restart: Effect.Effect<void>
}

interface FakeSmtpServerOptions {
  /** Required credentials. The server offers no TLS. */
  readonly login?: { readonly user: string; readonly password: string; readonly withoutTls: boolean }
}

class Refusal extends Error {
  readonly responseCode: number
  constructor(responseCode: number) {
    super("no such mailbox hunter2")
    this.responseCode = responseCode
  }
}

/** An SMTP server on a local port that records the received mails. */
export const makeFakeSmtpServer = ({ login }: FakeSmtpServerOptions = {}): Effect.Effect<
  FakeSmtpServer,
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const mails: Array<ReceivedMail> = []
    const logins: Array<string> = []
    const state = { recipients: 250, away: false }
    const make = () =>
      new SMTPServer({
        disabledCommands: ["STARTTLS", ...(login === undefined ? ["AUTH"] : [])],
        authOptional: login === undefined,
        allowInsecureAuth: login?.withoutTls ?? false,
        logger: false,
        onConnect: (_session, done) => {
          if (state.away) done(new Refusal(421))
          else done()
        },
        onAuth: (auth, _session, done) => {
          logins.push(auth.username ?? "")
          if (auth.username === login?.user && auth.password === login?.password) done(null, { user: auth.username })
          else done(new Refusal(535))
        },
        onRcptTo: (_address, _session, done) => {
          if (state.recipients === 250) done()
          else done(new Refusal(state.recipients))
        },
        onData: (stream, { envelope }, done) => {
          const chunks: Array<Buffer> = []
          stream.on("data", (chunk: Buffer) => chunks.push(chunk))
          stream.once("end", () => {
            mails.push({
              from: envelope.mailFrom === false ? "" : envelope.mailFrom.address,
              to: envelope.rcptTo.map(({ address }) => address),
              source: Buffer.concat(chunks).toString("utf8")
            })
            done()
          })
        }
      })
    let server = make()
    const listen = (port: number) =>
      Effect.async<number>((resume) => {
        // A closed server cannot accept again.
        server = make()
        server.on("error", () => undefined)
        const listening = server.listen(port, "127.0.0.1", () => {
          const address = listening.address()
          resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
        })
      })
    const stop = Effect.async<void>((resume) => server.close(() => resume(Effect.void)))
    const port = yield* Effect.acquireRelease(listen(0), () => stop)
    return {
      port,
      received: Effect.sync(() => [...mails]),
      answerRecipients: (code) =>
        Effect.sync(() => {
          state.recipients = code
        }),
      turnAway: (yes) =>
        Effect.sync(() => {
          state.away = yes
        }),
      stop,
      restart: Effect.asVoid(Effect.suspend(() => listen(port)))
    }
  })
