import { Email } from "@berth/domain/shared/Email"
import { type Mail, MailId } from "@berth/domain/mail/Mail"
import { Mailer, MailRejected, MailServiceUnavailable } from "@berth/domain/mail/Mailer"
import * as FileMailer from "@berth/infra/mail/FileMailer"
import * as MailerTest from "@berth/infra/mail/MailerTest"
import * as SmtpMailer from "@berth/infra/mail/SmtpMailer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Logger, Redacted, type Scope } from "effect"
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { freePort } from "../support/FreePort.ts"
import { parseMail } from "../support/MailText.ts"
import { makeFakeSmtpServer } from "../fakes/FakeSmtpServer.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"

const from = { name: "Berth", address: "no-reply@berth.example" }

interface MailerUnderTest {
  readonly mailer: Context.Tag.Service<Mailer>
  readonly arrived: Effect.Effect<ReadonlyArray<string>>
}

const built = (layer: Layer.Layer<Mailer>) => Effect.map(Layer.build(layer), (context) => Context.get(context, Mailer))
const smtpUrl = (text: string) => Redacted.make(new URL(text))

const bySmtp = Effect.gen(function* () {
  const inbox = yield* makeFakeSmtpServer()
  return {
    mailer: yield* built(SmtpMailer.layer({ url: smtpUrl(`smtp://127.0.0.1:${inbox.port}`), from })),
    arrived: Effect.map(inbox.received, (mails) => mails.map(({ source }) => source))
  }
})

const filesIn = async (directory: string) => {
  const names = await readdir(directory).catch(() => [])
  return Promise.all(
    names.filter((name) => name.endsWith(".eml")).map((name) => readFile(join(directory, name), "utf8"))
  )
}

const byFile = Effect.gen(function* () {
  const dataDirectory = join(yield* temporaryDirectory, "data")
  return {
    mailer: yield* built(FileMailer.layer({ dataDirectory, from, logsLinks: false })),
    arrived: Effect.promise(() => filesIn(join(dataDirectory, "mail")))
  }
})

const inMemory = Effect.gen(function* () {
  const context = yield* Layer.build(MailerTest.layer)
  const files = yield* byFile
  return {
    mailer: Context.get(context, Mailer),
    arrived: Effect.flatMap(Context.get(context, MailerTest.MailerTest).sent, (sent) =>
      Effect.zipRight(Effect.forEach(sent, files.mailer.send), files.arrived)
    ).pipe(Effect.orDie)
  }
})

const mail = (changes: Partial<Mail> = {}): Mail => ({
  id: MailId.make("mal_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b"),
  to: Email.make("ada@example.com"),
  subject: "Confirm your e-mail address",
  text: "Open this link:\n\nhttps://berth.example/api/auth/verify-email?token=abc\n",
  ...changes
})

const portSpec = (place: Effect.Effect<MailerUnderTest, never, Scope.Scope>) => () => {
  it.scopedLive("Mailer sends a mail unchanged, from the service, with a Message-ID of its id", () =>
    Effect.gen(function* () {
      const { arrived, mailer } = yield* place
      yield* mailer.send(mail({ subject: "Größe — 大きさ" }))
      const [source = "", ...more] = yield* arrived
      assert.lengthOf(more, 0)
      const { headers, text } = parseMail(source)
      assert.strictEqual(headers.get("to"), "ada@example.com")
      assert.strictEqual(headers.get("from"), "Berth <no-reply@berth.example>")
      assert.strictEqual(headers.get("message-id"), `<${mail().id}@berth.example>`)
      assert.strictEqual(headers.get("auto-submitted"), "auto-generated")
      assert.match(headers.get("subject") ?? "", /^=\?UTF-8\?/)
      assert.strictEqual(text.trim(), mail().text.trim())
      assert.isFalse(Number.isNaN(Date.parse(headers.get("date") ?? "")))
    })
  )

  it.scopedLive("Mailer keeps long and non-ASCII text complete", () =>
    Effect.gen(function* () {
      const { arrived, mailer } = yield* place
      const text = `${"a".repeat(2_000)}\n.\n..\nFrom me\nünïcödé 😀 =3D\n`
      yield* mailer.send(mail({ text }))
      const [source = ""] = yield* arrived
      assert.strictEqual(parseMail(source).text.trimEnd(), text.trimEnd())
      for (const line of source.split("\r\n")) assert.isAtMost(Buffer.byteLength(line), 998)
    })
  )

  it.scopedLive("Mailer gives a mail that is sent twice the same Message-ID", () =>
    Effect.gen(function* () {
      const { arrived, mailer } = yield* place
      yield* mailer.send(mail())
      yield* mailer.send(mail())
      const ids = (yield* arrived).map((source) => parseMail(source).headers.get("message-id"))
      assert.isAtLeast(ids.length, 1)
      assert.strictEqual(new Set(ids).size, 1)
    })
  )

  const hostile: ReadonlyArray<readonly [string, Partial<Mail>]> = [
    ["a subject with another header in it", { subject: "Hello\r\nBcc: eve@example.com" }],
    ["a subject with a line feed", { subject: "Hello\nBcc: eve@example.com" }],
    ["a subject with a line separator", { subject: "Hello\u2028Bcc: eve@example.com" }],
    ["a subject with U+0000", { subject: "Hello\u0000" }],
    ["no subject", { subject: " " }],
    ["a recipient with another header", { to: Email.make("ada@example.com\r\nBcc: eve@example.com") }],
    ["two recipients", { to: Email.make("ada@example.com, eve@example.com") }],
    ["a recipient with a name", { to: Email.make("Eve <eve@example.com>") }],
    ["no recipient", { to: Email.make("") }],
    ["an id that leaves its header", { id: MailId.make("a>\r\nBcc: eve@example.com") }],
    ["an id that leaves its folder", { id: MailId.make("../../etc/passwd") }]
  ]
  for (const [what, changes] of hostile)
    it.scopedLive(`Mailer rejects ${what} permanently`, () =>
      Effect.gen(function* () {
        const { arrived, mailer } = yield* place
        const refused = yield* Effect.flip(mailer.send(mail(changes)))
        assert.instanceOf(refused, MailRejected)
        assert.notInclude(refused.message, "eve@example.com")
        assert.lengthOf(yield* arrived, 0)
      })
    )

  it.scopedLive("Mailer never turns text into headers", () =>
    Effect.gen(function* () {
      const { arrived, mailer } = yield* place
      yield* mailer.send(mail({ text: "Bcc: eve@example.com\r\n\r\nSubject: other\n" }))
      const [source = ""] = yield* arrived
      const { headers, names } = parseMail(source)
      assert.isFalse(headers.has("bcc"))
      assert.lengthOf(
        names.filter((name) => name === "subject"),
        1
      )
    })
  )
}

describe("Mailer by SMTP", portSpec(bySmtp))
describe("Mailer by files", portSpec(byFile))
describe("Mailer of tests", portSpec(inMemory))

describe("Mailer by SMTP, of its server,", () => {
  const through = (inbox: { readonly port: number }, login = "") =>
    built(
      SmtpMailer.layer({
        url: smtpUrl(`smtp://${login}127.0.0.1:${inbox.port}`),
        from,
        idleTimeout: Duration.seconds(5)
      })
    )

  it.scopedLive("SmtpMailer sends one recipient in the envelope, whatever the text contains", () =>
    Effect.gen(function* () {
      const inbox = yield* makeFakeSmtpServer()
      yield* (yield* through(inbox)).send(mail({ text: "To: eve@example.com\n" }))
      const [received] = yield* inbox.received
      assert.deepStrictEqual([received?.from, received?.to], [from.address, ["ada@example.com"]])
    })
  )

  it.scopedLive("SmtpMailer maps 5xx to rejected and 4xx to unavailable, and quotes only the status", () =>
    Effect.gen(function* () {
      const inbox = yield* makeFakeSmtpServer()
      const mailer = yield* through(inbox)
      for (const [code, kind] of [
        [550, MailRejected],
        [553, MailRejected],
        [450, MailServiceUnavailable],
        [421, MailServiceUnavailable]
      ] as const) {
        yield* inbox.answerRecipients(code)
        const failure = yield* Effect.flip(mailer.send(mail()))
        assert.isTrue(failure instanceof kind, `${code}`)
        assert.include(failure.message, String(code))
        assert.notMatch(failure.message, /hunter2|ada@/)
      }
      yield* inbox.answerRecipients(250)
      yield* mailer.send(mail())
      assert.lengthOf(yield* inbox.received, 1)
    })
  )

  it.scopedLive("SmtpMailer fails with MailServiceUnavailable without a server", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const failure = yield* Effect.flip((yield* through({ port })).send(mail()))
      assert.instanceOf(failure, MailServiceUnavailable)
      assert.include(failure.message, "ECONNREFUSED")
    })
  )

  it.scopedLive("SmtpMailer fails with MailServiceUnavailable when the server disconnects at once", () =>
    Effect.gen(function* () {
      const inbox = yield* makeFakeSmtpServer()
      yield* inbox.turnAway(true)
      assert.instanceOf(yield* Effect.flip((yield* through(inbox)).send(mail())), MailServiceUnavailable)
    })
  )

  it.scopedLive("SmtpMailer fails with MailServiceUnavailable when the server does not respond in time", () =>
    Effect.gen(function* () {
      const silent = yield* Effect.acquireRelease(
        Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
          const open = new Set<{ destroy: () => void }>()
          const server = createServer((socket) => open.add(socket.on("error", () => undefined)))
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = address !== null && typeof address === "object" ? address.port : 0
            const close = () => {
              for (const socket of open) socket.destroy()
              server.close()
            }
            resume(Effect.succeed({ port, close }))
          })
        }),
        ({ close }) => Effect.sync(close)
      )
      const url = smtpUrl(`smtp://127.0.0.1:${silent.port}`)
      const mailer = yield* built(SmtpMailer.layer({ url, from, idleTimeout: Duration.millis(200) }))
      assert.instanceOf(yield* Effect.flip(mailer.send(mail())), MailServiceUnavailable)
    })
  )

  it.scopedLive("SmtpMailer signs in, and reports a wrong password as MailServiceUnavailable without quoting it", () =>
    Effect.gen(function* () {
      const inbox = yield* makeFakeSmtpServer({ login: { user: "berth@mail", password: "pa ss/1", withoutTls: true } })
      yield* (yield* through(inbox, "berth%40mail:pa%20ss%2F1@")).send(mail())
      assert.lengthOf(yield* inbox.received, 1)
      const failure = yield* Effect.flip((yield* through(inbox, "berth%40mail:hunter2@")).send(mail()))
      assert.instanceOf(failure, MailServiceUnavailable)
      assert.notInclude(failure.message, "hunter2")
    })
  )
})

describe("Mailer by files, on its disk,", () => {
  it.scopedLive("FileMailer writes one complete file per mail that only its owner can read", () =>
    Effect.gen(function* () {
      const dataDirectory = join(yield* temporaryDirectory, "data")
      const mailer = yield* built(FileMailer.layer({ dataDirectory, from, logsLinks: false }))
      yield* Effect.replicateEffect(mailer.send(mail()), 3)
      const directory = join(dataDirectory, "mail")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), [`${mail().id}.eml`])
      const modes = yield* Effect.promise(() =>
        Promise.all([stat(directory), stat(join(directory, `${mail().id}.eml`))])
      )
      assert.deepStrictEqual(
        modes.map(({ mode }) => mode & 0o777),
        [0o700, 0o600]
      )
    })
  )

  it.scopedLive("FileMailer logs recipient, subject and link of a mail only with logsLinks", () =>
    Effect.gen(function* () {
      const dataDirectory = join(yield* temporaryDirectory, "data")
      const lines: Array<unknown> = []
      const logger = Logger.map(Logger.structuredLogger, ({ annotations, message }) =>
        lines.push([message, annotations])
      )
      const sendWith = (logsLinks: boolean) =>
        Effect.flatMap(built(FileMailer.layer({ dataDirectory, from, logsLinks })), ({ send }) => send(mail())).pipe(
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
        )
      yield* sendWith(false)
      assert.deepStrictEqual(lines, [])
      yield* sendWith(true)
      const link = "https://berth.example/api/auth/verify-email?token=abc"
      assert.deepStrictEqual(lines, [["Mail written", { to: mail().to, subject: mail().subject, link }]])
    })
  )

  it.scopedLive("FileMailer fails with MailServiceUnavailable, without the path, when it cannot write", () =>
    Effect.gen(function* () {
      const dataDirectory = join(yield* temporaryDirectory, "data")
      yield* Effect.promise(() => mkdir(dataDirectory).then(() => writeFile(join(dataDirectory, "mail"), "a file")))
      const failure = yield* Effect.flip(
        Effect.flatMap(built(FileMailer.layer({ dataDirectory, from, logsLinks: false })), ({ send }) => send(mail()))
      )
      assert.instanceOf(failure, MailServiceUnavailable)
      assert.notInclude(failure.message, dataDirectory)
    })
  )
})
