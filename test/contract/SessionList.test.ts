import { SocketClose } from "@berth/api/interaction/AgentSocketFrames"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { uniqueName } from "../support/Samples.ts"
import { connectSocket } from "../support/SocketClient.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const password = "correct horse battery"

const account = Effect.gen(function* () {
  const email = `${yield* uniqueName("member")}@example.com`
  yield* App.web({ method: "POST", path: "/api/register", json: { email, password } })
  return email
})

interface Client {
  readonly from: string
  readonly userAgent?: string
}

const signIn = (email: string, { from, userAgent }: Client) =>
  Effect.gen(function* () {
    const answer = yield* App.web({
      method: "POST",
      path: "/api/auth/callback/credentials",
      json: { email, password },
      from,
      headers: userAgent === undefined ? {} : { "user-agent": userAgent }
    })
    assert.strictEqual(answer.status, 200, answer.text)
    return String(answer.headers["set-cookie"]).split(";")[0] ?? ""
  })

const Listed = Schema.Struct({
  sessions: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      createdAt: Schema.DateTimeUtc,
      lastSeenAt: Schema.DateTimeUtc,
      userAgent: Schema.NullOr(Schema.String),
      address: Schema.NullOr(Schema.String),
      current: Schema.Boolean
    })
  )
})

const list = (cookie: string) =>
  Effect.gen(function* () {
    const answer = yield* App.web({ method: "GET", path: "/api/auth/sessions", headers: { cookie } })
    assert.strictEqual(answer.status, 200, answer.text)
    return (yield* Schema.decodeUnknown(Listed)(answer.body)).sessions
  })

const idOf = (cookie: string) =>
  Effect.map(list(cookie), (sessions) => sessions.find(({ current }) => current)?.id ?? assert.fail("no current one"))

const revoke = (cookie: string, id: string) =>
  App.web({ method: "DELETE", path: `/api/auth/sessions/${id}`, headers: { cookie } })

const statusOf = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ status }) => status)

layer(App.shared, { excludeTestServices: true })("GET /api/auth/sessions", (it) => {
  it.effect("GET /api/auth/sessions lists time, user agent and network, and marks the current session", () =>
    Effect.gen(function* () {
      const email = yield* account
      const before = yield* DateTime.now
      const first = yield* signIn(email, { from: "203.0.113.77", userAgent: "Browser/1.0 (Desk)" })
      const second = yield* signIn(email, { from: "2001:db8:1:2:3:4:5:6", userAgent: "x".repeat(300) })
      yield* signIn(email, { from: "198.51.100.9" })
      const sessions = yield* list(first)
      assert.deepStrictEqual(
        sessions.map(({ address, current, userAgent }) => ({ address, current, userAgent })),
        [
          { address: "198.51.100.0/24", current: false, userAgent: null },
          { address: "2001:db8:1:2::/64", current: false, userAgent: "x".repeat(256) },
          { address: "203.0.113.0/24", current: true, userAgent: "Browser/1.0 (Desk)" }
        ]
      )
      for (const { createdAt, lastSeenAt } of sessions) {
        assert.isTrue(DateTime.greaterThanOrEqualTo(createdAt, before))
        assert.isTrue(DateTime.greaterThanOrEqualTo(lastSeenAt, createdAt))
      }
      assert.deepStrictEqual(
        (yield* list(second)).map(({ current }) => current),
        [false, true, false]
      )
    })
  )

  it.effect("GET /api/auth/sessions contains no token, no hash and no full address", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const email = yield* account
      const cookie = yield* signIn(email, { from: "203.0.113.78" })
      const token = cookie.split("=")[1] ?? ""
      const { text } = yield* App.web({ method: "GET", path: "/api/auth/sessions", headers: { cookie } })
      const hash = createHash("sha256").update(token).digest("hex")
      for (const secret of [token, hash, "203.0.113.78"]) assert.notInclude(text, secret)
      for (const secret of [token, hash]) assert.notInclude((yield* logLines).join("\n"), secret)
      const rows = yield* sql`select * from sessions where token_hash = ${hash}`
      assert.strictEqual(rows.length, 1)
      assert.notInclude(JSON.stringify(rows), "203.0.113.78")
    })
  )

  it.effect("GET /api/auth/sessions returns the last use and omits ended sessions", () =>
    Effect.gen(function* () {
      const email = yield* account
      const used = yield* signIn(email, { from: "203.0.113.1" })
      const expired = yield* signIn(email, { from: "203.0.113.2" })
      const [usedId, expiredId] = [yield* idOf(used), yield* idOf(expired)]
      yield* sql`
        update sessions set last_seen_at = now() - interval '1 day', expires_at = now() + interval '29 days'
        where id = ${usedId}`
      yield* sql`update sessions set expires_at = now() where id = ${expiredId}`
      const before = yield* DateTime.now
      yield* statusOf(used)
      const sessions = yield* list(used)
      assert.deepStrictEqual(
        sessions.map(({ id }) => id),
        [usedId]
      )
      assert.isTrue(sessions.every(({ lastSeenAt }) => DateTime.greaterThanOrEqualTo(lastSeenAt, before)))
    })
  )
})

layer(App.shared, { excludeTestServices: true })("A revoked session", (it) => {
  it.effect("A revoked session is invalid from the next request on, and others stay valid", () =>
    Effect.gen(function* () {
      const email = yield* account
      const [here, lost, other] = [
        yield* signIn(email, { from: "203.0.113.1" }),
        yield* signIn(email, { from: "203.0.113.2" }),
        yield* signIn(email, { from: "203.0.113.3" })
      ]
      const id = yield* idOf(lost)
      const answer = yield* revoke(here, id)
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.notProperty(answer.headers, "set-cookie")
      assert.deepStrictEqual([yield* statusOf(here), yield* statusOf(lost), yield* statusOf(other)], [200, 401, 200])
      assert.notInclude(
        (yield* list(here)).map((session) => session.id),
        id
      )
      assertError(yield* revoke(here, id), { status: 404, code: "sign_in_session_not_found" })
    })
  )

  it.effect("A revoked session clears the cookie when it is the current session", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const email = yield* account
      const here = yield* signIn(email, { from: "203.0.113.1" })
      const answer = yield* revoke(here, yield* idOf(here))
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.headers["set-cookie"], [
        `${cookieName}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`
      ])
      assert.strictEqual(yield* statusOf(here), 401)
    })
  )

  it.effect("A revoked session closes the socket that was opened with it", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const elsewhere = yield* App.openSession(owner.user)
      const { appUrl } = yield* App.TestApp
      const path = `/agents/${owner.agent.id}/ws`
      const socket = yield* connectSocket({ host: appUrl.host, path, headers: { cookie: owner.cookie } })
      yield* revoke(elsewhere.cookie, yield* idOf(owner.cookie))
      assert.strictEqual((yield* Effect.timeout(socket.closed, "30 seconds")).code, SocketClose.unauthorized)
    }).pipe(Effect.scoped)
  )
})
