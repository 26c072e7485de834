import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { Email } from "@berth/domain/shared/Email"
import { MailServiceUnavailable } from "@berth/domain/mail/Mailer"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { MailerTest } from "@berth/infra/mail/MailerTest"
import { readMailsTo, findResetToken, processMailJobs } from "../support/Mailbox.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"
import { withTableHidden } from "./OwnerFixtures.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResets"

const password = "correct horse battery"
const next = "another battery"

const account = Effect.gen(function* () {
  const email = `${yield* uniqueName("forgetful")}@example.com`
  const answer = yield* App.web({ method: "POST", path: "/api/register", json: { email, password } })
  assert.strictEqual(answer.status, 200)
  return { email, id: UserId.make(String(answer.body["id"])) }
})

const forgot = (email: unknown, more: Partial<App.AppCall> = {}) =>
  App.web({ method: "POST", path: "/api/auth/forgot-password", json: { email }, ...more })

const reset = (token: string, candidate: string = next) =>
  App.web({ method: "POST", path: "/api/auth/reset-password", json: { token, password: candidate } })

const signIn = (email: string, candidate: string) =>
  App.web({ method: "POST", path: "/api/auth/callback/credentials", json: { email, password: candidate } })

const whoIs = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ status }) => status)

const sessionOf = (email: string, candidate: string) =>
  Effect.map(signIn(email, candidate), ({ headers }) => headers["set-cookie"]?.[0]?.split(";")[0] ?? "")

layer(App.layer(), { excludeTestServices: true })("A password reset request", (it) => {
  it.effect("A password reset request has the same response whether or not the account exists", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      const answers = [
        yield* forgot(email),
        yield* forgot(` ${email.toUpperCase()} `),
        yield* forgot("nobody@example.com"),
        yield* forgot("0xabc@wallet.localhost")
      ]
      for (const answer of answers) {
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(Object.keys(answer.body), ["message"])
        assert.strictEqual(answer.headers["set-cookie"], undefined)
      }
      assert.strictEqual(new Set(answers.map(withoutTraceId)).size, 1)
    })
  )

  it.effect("A password reset request does the same work whether or not the account exists", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      const { passwordHasherCalls } = yield* App.TestApp
      const hashed = (yield* passwordHasherCalls).length
      // Without the tables of users and tokens, a response that depended on them would be 500.
      const answers = yield* withTableHidden("users")(Effect.all([forgot(email), forgot("nobody@example.com")]))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200]
      )
      assert.strictEqual((yield* passwordHasherCalls).length, hashed)
      const jobs = yield* sql`
        select payload->>'email' as email from outbox
        where name = ${SendPasswordResetJob.name} and payload->>'email' in (${email}, 'nobody@example.com')`
      assert.sameMembers(
        jobs.map((row) => String(row["email"])).filter((one) => one === email),
        [email]
      )
      assert.isTrue(jobs.some((row) => row["email"] === "nobody@example.com"))
    })
  )

  it.effect("A password reset request is mailed to the account's address in its stored spelling only", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const { email } = yield* account
      yield* forgot(email.toUpperCase())
      const [mail, ...more] = (yield* readMailsTo(email)).filter(({ text }) => text.includes("/reset-password"))
      assert.lengthOf(more, 0)
      assert.strictEqual(mail?.to, email)
      assert.match(mail?.text ?? "", new RegExp(`${appUrl.origin}/reset-password\\?token=[A-Za-z0-9_-]{43}\\n`))
      const nobody = `${yield* uniqueName("nobody")}@example.com`
      yield* forgot(nobody)
      assert.lengthOf(yield* readMailsTo(nobody), 0)
    })
  )

  it.effect("A password reset request leaves no token and no link in the database, the queue or a log", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const { email } = yield* account
      yield* forgot(email)
      const token = yield* findResetToken(email)
      assert.lengthOf(token, 43)
      yield* reset(token)
      const rows = yield* sql`
        select (select json_agg(o)::text from outbox o) || (select json_agg(m)::text from mailed_tokens m) as everything`
      assert.notInclude(String(rows[0]?.["everything"]), token)
      assert.notInclude((yield* logLines).join(), token)
    })
  )

  it.effect("A password reset request is dropped silently after three of one address in an hour", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      const nobody = `${yield* uniqueName("nobody")}@example.com`
      const requested = [email, nobody].flatMap((one) => [one, one.toUpperCase(), one, one, one])
      const answers = yield* Effect.forEach(requested, (one) => forgot(one))
      assert.deepStrictEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
      for (const one of [email, nobody]) {
        const jobs = yield* sql`
          select 1 from outbox where name = ${SendPasswordResetJob.name} and lower(payload->>'email') = ${one}`
        assert.lengthOf(jobs, 3)
      }
    })
  )

  it.effect("A password reset request succeeds while the mail server is unavailable, and is mailed later", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* MailerTest
      const { email } = yield* account
      yield* processMailJobs
      const answer = yield* withBehavior({ send: () => new MailServiceUnavailable({ reason: "down" }) })(
        Effect.zipLeft(forgot(email), Effect.sandbox(processMailJobs).pipe(Effect.ignore))
      )
      assert.strictEqual(answer.status, 200)
      assert.lengthOf(yield* findResetToken(email), 43)
    })
  )

  it.effect("A password reset request is 500 when it cannot be stored, and mails nothing", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      yield* processMailJobs
      assertError(yield* withTableHidden("outbox")(forgot(email)), { status: 500, code: "internal" })
      assert.strictEqual(yield* findResetToken(email), "")
    })
  )

  it.effect("A password reset request is mailed once, however often its job runs", () =>
    Effect.gen(function* () {
      const { send } = yield* PasswordResetMails
      const { email } = yield* account
      yield* processMailJobs
      const again = send("job_1", Email.make(email))
      yield* Effect.replicateEffect(again, 8, { concurrency: "unbounded" })
      const token = yield* findResetToken(email)
      yield* again
      assert.lengthOf(
        (yield* readMailsTo(email)).filter(({ text }) => text.includes("/reset-password")),
        1
      )
      assert.strictEqual((yield* reset(token)).status, 200)
      yield* again
      assert.strictEqual(yield* findResetToken(email), token)
    })
  )

  it.effect("A password reset request of an account whose address has changed is not mailed", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      yield* forgot(email)
      yield* sql`update users set email = ${`moved-${email}`} where id = ${id}`
      assert.strictEqual(yield* findResetToken(email), "")
      assert.strictEqual(yield* findResetToken(`moved-${email}`), "")
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("A password reset", (it) => {
  it.effect("A password reset replaces the old password and ends every session and API key", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      const cookies = [yield* sessionOf(email, password), yield* sessionOf(email, password)]
      const { user } = yield* Effect.flatten((yield* UserRepository).findByEmail(Email.make(email)))
      const { headers } = yield* createApiKey({ user, cookie: cookies[0] ?? "" }, "agents")
      const byKey = Effect.map(App.web({ method: "GET", path: "/api/agents", headers }), ({ status }) => status)
      assert.strictEqual(yield* byKey, 200)
      yield* forgot(email)
      const answer = yield* reset(yield* findResetToken(email))
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(Object.keys(answer.body), ["message"])
      assert.deepStrictEqual(yield* Effect.forEach(cookies, whoIs), [401, 401])
      assert.strictEqual(yield* byKey, 401)
      assert.deepStrictEqual([(yield* signIn(email, password)).status, (yield* signIn(email, next)).status], [401, 200])
    })
  )

  it.effect("A password reset accepts six characters, and rejects common, short and long passwords", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      yield* forgot(email)
      const token = yield* findResetToken(email)
      for (const refused of ["12345", "dragon1".slice(0, 6), "Monkey", "é".repeat(513)])
        assertError(yield* reset(token, refused), { status: 400, code: "password_rejected" })
      assert.strictEqual((yield* reset(token, "zx81é!")).status, 200)
      assert.strictEqual((yield* signIn(email, "zx81é!")).status, 200)
    })
  )

  it.effect("A password reset accepts its token once, also of 20 concurrent requests", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      yield* forgot(email)
      const token = yield* findResetToken(email)
      const tries = Array.from({ length: 20 }, (_, n) => `${next} ${n}`)
      const answers = yield* Effect.forEach(tries, (candidate) => reset(token, candidate), { concurrency: "unbounded" })
      const winners = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []))
      assert.lengthOf(winners, 1)
      for (const answer of answers)
        if (answer.status !== 200) assertError(answer, { status: 400, code: "reset_token_invalid" })
      assertError(yield* reset(token), { status: 400, code: "reset_token_invalid" })
      assert.strictEqual((yield* signIn(email, `${next} ${winners[0]}`)).status, 200)
    })
  )

  it.effect("A password reset accepts the last link only", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      yield* forgot(email)
      const first = yield* findResetToken(email)
      yield* forgot(email)
      const second = yield* findResetToken(email)
      assert.notStrictEqual(first, second)
      assertError(yield* reset(first), { status: 400, code: "reset_token_invalid" })
      assert.strictEqual((yield* reset(second)).status, 200)
    })
  )

  it.effect("A password reset rejects tokens after an hour and foreign tokens", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      yield* forgot(email)
      const token = yield* findResetToken(email)
      const [row] = yield* sql`
        select expires_at > now() + interval '59 minutes' and expires_at <= now() + interval '1 hour' as hourly
        from mailed_tokens where user_id = ${id} and purpose = 'password-reset'`
      assert.strictEqual(row?.["hourly"], true)
      const [stored] = yield* sql`
        select token_hash from mailed_tokens where user_id = ${id} and purpose = 'password-reset'`
      for (const wrong of [`${token}x`, token.toLowerCase(), "", "\u0001", String(stored?.["tokenHash"])])
        assertError(yield* reset(wrong), { status: 400, code: "reset_token_invalid" })
      yield* sql`update mailed_tokens set expires_at = now() - interval '1 second' where user_id = ${id}`
      assertError(yield* reset(token), { status: 400, code: "reset_token_invalid" })
      assert.strictEqual((yield* signIn(email, password)).status, 200)
    })
  )

  const otherwise: ReadonlyArray<
    readonly [
      string,
      (of: { email: string; id: UserId }) => Effect.Effect<unknown, unknown, App.TestApp | MailedTokenRepository>
    ]
  > = [
    [
      "its password is changed by somebody who knows it",
      ({ email }) =>
        Effect.gen(function* () {
          const cookie = yield* sessionOf(email, password)
          const json = { currentPassword: password, newPassword: `${password} 2` }
          const changed = yield* App.web({ method: "POST", path: "/api/settings/password", headers: { cookie }, json })
          assert.strictEqual(changed.status, 200)
        })
    ],
    [
      "its e-mail is another",
      ({ email }) =>
        Effect.gen(function* () {
          const cookie = yield* sessionOf(email, password)
          const json = { email: `moved-${email}` }
          assert.strictEqual(
            (yield* App.web({ method: "POST", path: "/api/settings", headers: { cookie }, json })).status,
            200
          )
        })
    ],
    [
      "they are forgotten",
      ({ id }) => Effect.flatMap(MailedTokenRepository, ({ revoke }) => revoke(id, "password-reset"))
    ]
  ]
  for (const [what, happens] of otherwise)
    it.effect(`A password reset rejects links from before ${what}`, () =>
      Effect.gen(function* () {
        const user = yield* account
        yield* forgot(user.email)
        const token = yield* findResetToken(user.email)
        yield* happens(user)
        assertError(yield* reset(token), { status: 400, code: "reset_token_invalid" })
      })
    )

  it.effect("A password reset leaves no session that the old password opens concurrently", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      yield* forgot(email)
      const token = yield* findResetToken(email)
      const [, ...signedIn] = yield* Effect.all(
        [reset(token), sessionOf(email, password), sessionOf(email, password), sessionOf(email, password)],
        { concurrency: "unbounded" }
      )
      for (const cookie of signedIn) if (cookie !== "") assert.strictEqual(yield* whoIs(cookie), 401)
    })
  )
})

const window = Duration.minutes(30)
const limits = {
  "forgot-password": { count: 2, window },
  "reset-password": { count: 2, window },
  "forgot-password-account": { count: 100, window }
}

layer(App.layer({ limits }), { excludeTestServices: true })("Reset limits", (it) => {
  const assertRefused = (answer: HttpCallResponse, limit: string) => {
    assertError(answer, { status: 429, code: "rate_limit_exceeded" })
    assert.strictEqual(answer.body["limit"], limit)
    assert.isAtLeast(Number(answer.headers["retry-after"]), 1)
  }

  it.effect("Reset limits count requests per client address, whatever their outcome", () =>
    Effect.gen(function* () {
      assertError(yield* forgot("nobody", { from: "192.0.2.21" }), { status: 400, code: "email_invalid" })
      assert.strictEqual((yield* forgot("nobody@example.com", { from: "192.0.2.21" })).status, 200)
      assertRefused(yield* forgot("nobody@example.com", { from: "192.0.2.21" }), "forgot-password")
      assertRefused(yield* forgot(undefined, { from: "192.0.2.21" }), "forgot-password")
      assert.strictEqual((yield* forgot("nobody@example.com", { from: "192.0.2.22" })).status, 200)
    })
  )

  it.effect("Reset limits count tokens tried by the API and the page together", () =>
    Effect.gen(function* () {
      const from = "192.0.2.23"
      const json = { token: "none", password: next }
      const tried = yield* App.web({ method: "POST", path: "/api/auth/reset-password", json, from })
      assertError(tried, { status: 400, code: "reset_token_invalid" })
      const form = { "content-type": "application/x-www-form-urlencoded" }
      const submit = App.web({ method: "POST", path: "/reset-password", body: "token=none", headers: form, from })
      assert.strictEqual((yield* submit).status, 400)
      const refused = yield* submit
      assert.strictEqual(refused.status, 429)
      assert.isAtLeast(Number(refused.headers["retry-after"]), 1)
      assertRefused(yield* App.web({ method: "POST", path: "/api/auth/reset-password", json, from }), "reset-password")
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("The reset page", (it) => {
  const open = (token: string) => App.web({ method: "GET", path: `/reset-password?token=${token}` })
  const submit = (fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
    App.web({
      method: "POST",
      path: "/reset-password",
      body: new URLSearchParams(fields).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers }
    })
  const linked = Effect.gen(function* () {
    const { email } = yield* account
    yield* forgot(email)
    return { email, token: yield* findResetToken(email) }
  })

  it.effect("The reset page is a form without a script, referrer or caching", () =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* open("abc-_1")
      assert.strictEqual(status, 200)
      assert.match(headers["content-type"] ?? "", /^text\/html/)
      assert.strictEqual(headers["referrer-policy"], "no-referrer")
      assert.strictEqual(headers["cache-control"], "no-store")
      assert.strictEqual(headers["x-frame-options"], "DENY")
      assert.match(String(headers["content-security-policy"]), /default-src 'none'.*form-action 'self'/)
      assert.match(text, /<form [^>]*method="post" action="\/reset-password">/)
      assert.include(text, 'name="token" value="abc-_1"')
      assert.notMatch(text, /<script|onload=|https?:\/\//)
    })
  )

  it.effect("The reset page shows the token of the link as text", () =>
    Effect.gen(function* () {
      const { text } = yield* open(encodeURIComponent(`"><script>alert('1')</script>&`))
      assert.notInclude(text, "<script")
      assert.include(text, "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;")
    })
  )

  it.effect("The reset page explains a missing token", () =>
    Effect.gen(function* () {
      for (const path of ["/reset-password", "/reset-password?token="]) {
        const { status, text } = yield* App.web({ method: "GET", path })
        assert.strictEqual(status, 200)
        assert.notInclude(text, "<form")
      }
    })
  )

  it.effect("The reset page sets the password by a form with an opaque origin", () =>
    Effect.gen(function* () {
      const { email, token } = yield* linked
      const answer = yield* submit({ token, password: next }, { origin: "null" })
      assert.deepStrictEqual([answer.status, answer.headers.location], [303, "/login?notice=password_reset"])
      assert.strictEqual(answer.headers["referrer-policy"], "no-referrer")
      assert.strictEqual((yield* signIn(email, next)).status, 200)
    })
  )

  it.effect("The reset page rejects forms of other sites", () =>
    Effect.gen(function* () {
      const { token } = yield* linked
      const answer = yield* submit({ token, password: next }, { origin: "https://evil.example" })
      assertError(answer, { status: 403, code: "origin_not_allowed" })
    })
  )

  it.effect("The reset page offers another try after a rejected password, not after an invalid link", () =>
    Effect.gen(function* () {
      const { token } = yield* linked
      const refused = yield* submit({ token, password: "short" })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "must have at least 6 characters")
      assert.include(refused.text, `value="${token}"`)
      assert.strictEqual((yield* submit({ token, password: next })).status, 303)
      const over = yield* submit({ token, password: next })
      assert.strictEqual(over.status, 400)
      assert.include(over.text, "has expired")
      assert.notInclude(over.text, token)
      for (const fields of [{}, { token }, { password: next }, { token: "", password: "" }])
        assert.strictEqual((yield* submit(fields)).status, 400)
    })
  )
})
