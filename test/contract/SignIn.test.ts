import { Transaction } from "@berth/domain/persistence/Transaction"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { createHash } from "node:crypto"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql, untilLocked } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const password = "correct horse battery"
const path = "/api/auth/callback/credentials"

const account = Effect.gen(function* () {
  const email = `${yield* uniqueName("member")}@example.com`
  const { body } = yield* App.web({ method: "POST", path: "/api/register", json: { email, password } })
  return { email, id: String(body["id"]) }
})

const signIn = (email: string, candidate = password, headers: Record<string, string> = {}) =>
  App.web({ method: "POST", path, json: { email, password: candidate }, headers })

const form = (fields: Record<string, string>) =>
  App.web({
    method: "POST",
    path,
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" }
  })

const whoIs = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ body, status }) =>
    status === 200 ? body["id"] : status
  )

const cookieOf = ({ headers }: HttpCallResponse) => {
  const [only = "", ...more] = headers["set-cookie"] ?? []
  assert.deepStrictEqual(more, [])
  const [pair = "", ...attributes] = only.split("; ")
  const [name = "", value = ""] = pair.split("=")
  return { pair, name, value, attributes: attributes.toSorted() }
}

const thirtyDays = 30 * 24 * 60 * 60

layer(App.shared, { excludeTestServices: true })("Sign-in by password", (it) => {
  it.effect("Sign-in by password sets an HttpOnly, SameSite=Lax session cookie", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const { email, id } = yield* account
      const { attributes, name, pair, value } = cookieOf(yield* signIn(` ${email.toUpperCase()}`))
      assert.strictEqual(name, `berth_session_${appUrl.port}`)
      assert.match(value, /^[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(attributes, ["HttpOnly", `Max-Age=${thirtyDays}`, "Path=/", "SameSite=Lax"])
      assert.strictEqual(yield* whoIs(pair), id)
    })
  )

  it.effect("Sign-in by password stores only the hash of the session token", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      const { value } = cookieOf(yield* signIn(email))
      const rows = yield* sql`select * from sessions where user_id = ${id}`
      assert.strictEqual(rows.length, 1)
      assert.strictEqual(rows[0]?.["tokenHash"], createHash("sha256").update(value).digest("hex"))
      assert.notInclude(JSON.stringify(rows), value)
      const { logLines } = yield* App.TestApp
      assert.notInclude((yield* logLines).join("\n"), value)
    })
  )

  it.effect("Sign-in by password revokes the client's previous session and no other", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      const elsewhere = cookieOf(yield* signIn(email))
      const before = cookieOf(yield* signIn(email))
      const after = cookieOf(yield* signIn(email, password, { cookie: before.pair }))
      assert.notStrictEqual(after.value, before.value)
      assert.deepStrictEqual(
        [yield* whoIs(before.pair), yield* whoIs(after.pair), yield* whoIs(elsewhere.pair)],
        [401, id, id]
      )
    })
  )

  it.effect("Sign-in by password never adopts a token chosen by the client", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const { email } = yield* account
      const planted = "p".repeat(43)
      const { value } = cookieOf(yield* signIn(email, password, { cookie: `${cookieName}=${planted}` }))
      assert.notStrictEqual(value, planted)
      assert.strictEqual(yield* whoIs(`${cookieName}=${planted}`), 401)
    })
  )

  it.effect("Sign-in by password opens no session that outlives a concurrent password change", () =>
    Effect.gen(function* () {
      const { run } = yield* Transaction
      const { email, id } = yield* account
      const waiting = Effect.map(
        Effect.zipRight(
          sql`select pg_stat_clear_snapshot()`,
          sql`
            select count(*)::int as waiting from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`
        ),
        ([row]) => Number(row?.["waiting"])
      )
      const answer = yield* run(
        Effect.gen(function* () {
          yield* sql`update users set password_hash = '$argon2id$another' where id = ${id}`
          yield* sql`delete from sessions where user_id = ${id}`
          const signing = yield* Effect.forkDaemon(signIn(email))
          // It has verified the old password once it waits for the row or has ended.
          yield* Effect.repeat(Effect.zipLeft(waiting, Effect.sleep("20 millis")), {
            until: (count) => count > 0 || signing.unsafePoll() !== null
          })
          return Fiber.join(signing)
        })
      ).pipe(Effect.flatten)
      assertError(answer, { status: 401, code: "credentials_invalid" })
      assert.strictEqual((yield* sql`select from sessions where user_id = ${id}`).length, 0)
    })
  )

  it.effect("Sign-in by password returns the same error for every cause, sets no cookie and keeps the session", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      const { pair } = cookieOf(yield* signIn(email))
      const withoutPassword = `${yield* uniqueName("wallet")}@example.com`
      const other = yield* account
      yield* sql`update users set email = ${withoutPassword}, password_hash = null where id = ${other.id}`
      const failed = [
        yield* signIn(email, "wrong password", { cookie: pair }),
        yield* signIn("nobody@example.com"),
        yield* signIn("no e-mail at all"),
        yield* signIn(withoutPassword)
      ]
      for (const answer of failed) {
        assertError(answer, { status: 401, code: "credentials_invalid" })
        assert.notProperty(answer.headers, "set-cookie")
      }
      assert.strictEqual(new Set(failed.map(withoutTraceId)).size, 1)
      assert.strictEqual(yield* whoIs(pair), id)
    })
  )

  it.effect("Sign-in by password verifies one hash whether or not the account exists", () =>
    Effect.gen(function* () {
      const { passwordHasherCalls } = yield* App.TestApp
      const { email } = yield* account
      const requested = (work: Effect.Effect<unknown, never, App.TestApp>) =>
        Effect.gen(function* () {
          const before = (yield* passwordHasherCalls).length
          yield* work
          return (yield* passwordHasherCalls).slice(before)
        })
      assert.deepStrictEqual(yield* requested(signIn(email, "wrong")), ["verify"])
      assert.deepStrictEqual(yield* requested(signIn(email)), ["verify"])
      assert.deepStrictEqual(yield* requested(signIn("nobody@example.com")), ["verifyDummy"])
      assert.deepStrictEqual(yield* requested(signIn("no e-mail at all")), ["verifyDummy"])
    })
  )

  const callbacks: ReadonlyArray<readonly [string | undefined, string]> = [
    [undefined, "/dashboard"],
    ["", "/dashboard"],
    ["/agents?x=1#y", "/agents?x=1#y"],
    ["https://evil.example/", "/dashboard"],
    ["//evil.example/", "/dashboard"],
    ["/\\evil.example", "/dashboard"],
    ["javascript:alert(1)", "/dashboard"],
    ["/a\r\nset-cookie: x=y", "/aset-cookie:%20x=y"]
  ]

  it.effect("Sign-in by password redirects a form only within the service", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      for (const [callbackUrl, location] of callbacks) {
        const fields = { email, password, ...(callbackUrl === undefined ? {} : { callbackUrl }) }
        const answer = yield* form(fields)
        assert.deepStrictEqual([answer.status, answer.headers.location, answer.text], [302, location, ""])
        assert.strictEqual(yield* whoIs(cookieOf(answer).pair), id)
      }
    })
  )

  it.effect("Sign-in by password returns a JSON url only within the service", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      for (const [callbackUrl, url] of callbacks) {
        const { body } = yield* App.web({ method: "POST", path, json: { email, password, callbackUrl } })
        assert.strictEqual(body["url"], url)
      }
    })
  )
})

layer(App.shared, { excludeTestServices: true })("A session", (it) => {
  it.effect("A session ends at sign-out while other sessions stay valid", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const me = yield* App.signInNewUser()
      const elsewhere = yield* App.openSession(me.user)
      const answer = yield* App.web({ method: "POST", path: "/api/auth/signout", as: me })
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      const cleared = cookieOf(answer)
      assert.deepStrictEqual(
        [cleared.name, cleared.value, cleared.attributes],
        [`berth_session_${appUrl.port}`, "", ["HttpOnly", "Max-Age=0", "Path=/", "SameSite=Lax"]]
      )
      assert.deepStrictEqual([yield* whoIs(me.cookie), yield* whoIs(elsewhere.cookie)], [401, me.user.id])
    })
  )

  it.effect("A session is optional at sign-out", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      for (const headers of [{}, { cookie: `${cookieName}=junk` }])
        assert.strictEqual((yield* App.web({ method: "POST", path: "/api/auth/signout", headers })).status, 200)
    })
  )

  it.effect("A session expires, and its expiry slides with use", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const left = (interval: string) =>
        sql`update sessions set expires_at = now() + ${interval}::interval where user_id = ${me.user.id}`
      yield* left("1 day")
      assert.strictEqual(yield* whoIs(me.cookie), me.user.id)
      const [row] = yield* sql`
        select expires_at > now() + interval '29 days' as renewed from sessions where user_id = ${me.user.id}`
      assert.strictEqual(row?.["renewed"], true)
      yield* left("-1 second")
      assert.strictEqual(yield* whoIs(me.cookie), 401)
    })
  )

  it.effect("A session extends its cookie when its expiry slides, whatever the route, and no other time", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const agePast = (interval: string) =>
        sql`update sessions set expires_at = expires_at - ${interval}::interval where user_id = ${me.user.id}`
      for (const path of ["/api/auth/session", "/api/settings", "/dashboard"]) {
        const read = App.web({ method: "GET", path, as: me })
        yield* agePast("1 minute")
        assert.notProperty((yield* read).headers, "set-cookie", path)
        yield* agePast("1 day")
        const renewed = yield* read
        const { attributes, pair } = cookieOf(renewed)
        assert.deepStrictEqual(
          [pair, attributes],
          [me.cookie, ["HttpOnly", `Max-Age=${thirtyDays}`, "Path=/", "SameSite=Lax"]]
        )
        assert.strictEqual(renewed.headers["cache-control"], "no-store")
      }
      const { body } = yield* App.web({ method: "POST", path: "/api/auth/token", as: me })
      yield* agePast("1 day")
      const byToken = yield* App.web({
        method: "GET",
        path: "/api/billing",
        headers: { authorization: `Bearer ${String(body["token"])}`, cookie: me.cookie }
      })
      assert.deepStrictEqual([byToken.status, byToken.headers["set-cookie"]], [200, undefined])
    })
  )

  it.effect("A session never extends its cookie when the request ends the session", () =>
    Effect.gen(function* () {
      for (const [method, path, json] of [
        ["DELETE", "/api/auth/sessions/current", undefined],
        ["DELETE", "/api/settings", { confirm: true }],
        ["POST", "/api/auth/signout", undefined]
      ] as const) {
        const me = yield* App.signInNewUser()
        const [session] = yield* sql`
          update sessions set expires_at = now() + interval '1 day' where user_id = ${me.user.id} returning id`
        const answer = yield* App.web({
          method,
          path: path.replace("current", String(session?.["id"])),
          as: me,
          ...(json === undefined ? {} : { json })
        })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(cookieOf(answer).value, "", path)
      }
    })
  )

  it.effect("A session that ends during a request extends no cookie, which a later sign-in has replaced", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* AgentManagerTest
      const me = yield* createOwnerWithAgent()
      const context = yield* Effect.context<SqlClient>()
      for (const [end, expected] of [
        [Effect.void, 1],
        [sql`delete from sessions where user_id = ${me.user.id}`, 0]
      ] as const) {
        yield* sql`update sessions set expires_at = now() + interval '1 day' where user_id = ${me.user.id}`
        const answer = yield* withBehavior({
          restart: () => Effect.as(Effect.provide(Effect.orDie(end), context), { runtimeVersion: "1", healings: [] })
        })(App.web({ method: "POST", path: `/api/instance/${me.user.id}/restart`, as: me }))
        assert.strictEqual(answer.status, 200, answer.text)
        assert.lengthOf(answer.headers["set-cookie"] ?? [], expected)
      }
    })
  )

  it.effect("A session ends when its user is removed", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      yield* sql`delete from users where id = ${me.user.id}`
      assert.strictEqual(yield* whoIs(me.cookie), 401)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("A changed password", (it) => {
  const change = (cookie: string, currentPassword: string, newPassword: string) =>
    App.web({
      method: "POST",
      path: "/api/settings/password",
      json: { currentPassword, newPassword },
      headers: { cookie }
    })

  it.effect("A changed password that is rejected is named by its field", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      const { body, status } = yield* change(cookieOf(yield* signIn(email)).pair, password, "short")
      assert.strictEqual(status, 400)
      assert.containSubset(body, { message: "newPassword: must have at least 8 characters" })
    })
  )

  it.effect("A changed password makes concurrent changes of the old password 401", () =>
    Effect.gen(function* () {
      const { run } = yield* Transaction
      const { email, id } = yield* account
      const here = cookieOf(yield* signIn(email)).pair
      const next = ["first", "second", "third", "fourth"].map((word) => `${word} battery`)
      // All have verified the old password, and wait for the user that they change.
      const changes = yield* run(
        Effect.gen(function* () {
          yield* sql`select from users where id = ${id} for no key update`
          const fibers = yield* Effect.forEach(next, (it) => Effect.forkDaemon(change(here, password, it)))
          yield* untilLocked(fibers.length)
          return fibers
        })
      )
      const answers = yield* Effect.forEach(changes, Fiber.join)
      const changed = answers.filter(({ status }) => status === 200)
      assert.strictEqual(changed.length, 1)
      for (const answer of answers)
        if (answer.status !== 200) assertError(answer, { status: 401, code: "current_password_incorrect" })
      const accepted = yield* Effect.filter(next, (it) => Effect.map(signIn(email, it), ({ status }) => status === 200))
      assert.deepStrictEqual(
        accepted,
        next.filter((_, at) => answers[at]?.status === 200)
      )
    })
  )

  it.effect("A changed password replaces the old password and revokes every other session", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      const here = cookieOf(yield* signIn(email)).pair
      const elsewhere = cookieOf(yield* signIn(email)).pair
      const answer = yield* change(here, password, "another battery")
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.deepStrictEqual([yield* whoIs(here), yield* whoIs(elsewhere)], [id, 401])
      assert.strictEqual((yield* signIn(email)).status, 401)
      assert.strictEqual((yield* signIn(email, "another battery")).status, 200)
    })
  )

  it.effect("A changed password requires the current password and otherwise changes nothing", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      const here = cookieOf(yield* signIn(email)).pair
      const elsewhere = cookieOf(yield* signIn(email)).pair
      assertError(yield* change(here, "wrong", "another battery"), { status: 401, code: "current_password_incorrect" })
      assertError(yield* change(here, password, "short"), { status: 400, code: "password_rejected" })
      assert.deepStrictEqual([yield* whoIs(here), yield* whoIs(elsewhere)], [id, id])
      assert.strictEqual((yield* signIn(email)).status, 200)
    })
  )
})

layer(App.layer({ appUrl: "https://berth.example" }), { excludeTestServices: true })("Behind https", (it) => {
  it.effect("The session cookie has the __Host- prefix and Secure", () =>
    Effect.gen(function* () {
      const { email, id } = yield* account
      const { attributes, name, pair } = cookieOf(yield* signIn(email))
      assert.strictEqual(name, "__Host-berth_session")
      assert.deepStrictEqual(attributes, ["HttpOnly", `Max-Age=${thirtyDays}`, "Path=/", "SameSite=Lax", "Secure"])
      assert.strictEqual(yield* whoIs(pair), id)
    })
  )

  it.effect("Only the https origin of the service is accepted", () =>
    Effect.gen(function* () {
      const { email } = yield* account
      assert.strictEqual((yield* signIn(email, password, { origin: "https://berth.example" })).status, 200)
      for (const origin of ["http://berth.example", "https://a.berth.example", "https://berth.example:8443"])
        assertError(yield* signIn(email, password, { origin }), { status: 403, code: "origin_not_allowed" })
    })
  )
})
