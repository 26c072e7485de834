import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { browserHeaders } from "../support/BrowserHeaders.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { type ParsedMail, parseMail, findLinkToken } from "../support/MailText.ts"
import { type FakeSmtpServer, makeFakeSmtpServer } from "../fakes/FakeSmtpServer.ts"
import { type Berth, startBerth, repeatUntil } from "./BerthProcess.ts"
import { makeAccount, openWebClient } from "./WebClient.ts"

class Service extends Context.Tag("@berth/test/MailService")<
  Service,
  { readonly berth: Berth; readonly inbox: FakeSmtpServer }
>() {}

const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    const databaseUrl = yield* migratedDatabase
    const inbox = yield* makeFakeSmtpServer({ login: { user: "berth", password: "hunter2", withoutTls: true } })
    const berth = yield* startBerth({
      databaseUrl,
      environment: {
        SMTP_URL: `smtp://berth:hunter2@127.0.0.1:${inbox.port}`,
        MAIL_FROM: "Berth <no-reply@berth.example>",
        BOT_DETECTION: "heuristic",
        LOG_LEVEL: "debug",
        OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1"
      }
    })
    return Layer.succeed(Service, { berth, inbox })
  })
)

const headers = browserHeaders["Firefox on Linux"]

/** Mails to an address whose text matches, by Message-ID: delivery is at-least-once. */
const arrived = (inbox: FakeSmtpServer, email: string, text: RegExp) =>
  Effect.map(inbox.received, (mails) => {
    const read = mails.filter(({ to }) => to.includes(email)).map(({ source }) => parseMail(source))
    return new Map(
      read
        .filter((mail) => text.test(mail.text))
        .map((mail): readonly [string, ParsedMail] => [mail.headers.get("message-id") ?? "", mail])
    )
  })

const theOne = (inbox: FakeSmtpServer, email: string, text: RegExp) =>
  Effect.gen(function* () {
    yield* repeatUntil(Effect.map(arrived(inbox, email, text), ({ size }) => size > 0))
    const mails = [...(yield* arrived(inbox, email, text)).values()]
    assert.lengthOf(mails, 1)
    return mails[0]?.text ?? ""
  })

layer(service, { timeout: "180 seconds", excludeTestServices: true })("mail", (it) => {
  it.effect(
    "Mail is delivered despite an unreachable server and a killed worker, with working links",
    Effect.fn(function* () {
      const { berth, inbox } = yield* Service
      const visitor = yield* openWebClient(berth.webUrl)
      const account = makeAccount("forgetful")
      assert.containSubset(yield* visitor.raw("POST", "/api/register", { body: account }), {
        status: 403,
        body: { code: "bot_blocked" }
      })

      yield* inbox.stop
      assert.containSubset(yield* visitor.raw("POST", "/api/register", { body: account, headers }), { status: 200 })
      const forgotten = { body: { email: account.email }, headers }
      assert.containSubset(yield* visitor.raw("POST", "/api/auth/forgot-password", forgotten), { status: 200 })
      yield* repeatUntil(Effect.map(berth.logs, (logs) => logs.includes("The mail service is unavailable")))
      const { worker } = yield* berth.pids
      process.kill(worker, "SIGKILL")
      yield* repeatUntil(Effect.sync(() => !isProcessAlive(worker)))
      yield* inbox.restart

      const confirmation = findLinkToken(yield* theOne(inbox, account.email, /verify-email/), "/api/auth/verify-email")
      const link = findLinkToken(yield* theOne(inbox, account.email, /reset-password/), "/reset-password")
      const confirmed = yield* Effect.promise(() =>
        fetch(`${berth.webUrl}/api/auth/verify-email?token=${confirmation}`, { redirect: "manual" })
      )
      assert.deepStrictEqual(
        [confirmed.status, confirmed.headers.get("location")],
        [302, "/login?notice=email_verified"]
      )

      const page = yield* visitor.raw("GET", `/reset-password?token=${link}`)
      assert.containSubset(page, { status: 200, headers: { "referrer-policy": "no-referrer" } })
      const submitted = yield* Effect.promise(() =>
        fetch(`${berth.webUrl}/reset-password`, {
          method: "POST",
          redirect: "manual",
          headers: { origin: "null" },
          body: new URLSearchParams({ token: link, password: "another battery" })
        })
      )
      assert.deepStrictEqual(
        [submitted.status, submitted.headers.get("location")],
        [303, "/login?notice=password_reset"]
      )
      yield* visitor.signIn({ ...account, password: "another battery" })
      assert.containSubset(yield* visitor.raw("POST", "/api/auth/callback/credentials", { body: account }), {
        status: 401
      })
      const logs = yield* berth.logs
      for (const secret of ["hunter2", confirmation, link]) assert.notInclude(logs, secret)
    })
  )
})
