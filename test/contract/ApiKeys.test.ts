import { maximumApiKeysPerUser } from "@berth/domain/accounts/api-keys/ApiKey"
import { defaultLimits } from "@berth/domain/limits/Limit"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { Email } from "@berth/domain/shared/Email"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { eventually } from "../support/Eventually.ts"
import { readMailsTo } from "../support/Mailbox.ts"
import { recordSpans } from "../support/RecordedTelemetry.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { bearer, createApiKey, expireApiKey } from "./ApiKeyFixtures.ts"
import { gatewayCall, readUsedUnits } from "./GatewayPayments.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"

const call = (method: string, path: string, as: App.SignedIn, json?: unknown) =>
  App.web({ method, path, as, ...(json === undefined ? {} : { json }) })

const create = (as: App.SignedIn, json: unknown) => call("POST", "/api/keys", as, json)

const agentsBy = (headers: Readonly<Record<string, string>>) => App.web({ method: "GET", path: "/api/agents", headers })

const recorded = recordSpans()

layer(Layer.provide(App.layer(), recorded.layer), { excludeTestServices: true })("API keys", (it) => {
  it.effect("API keys are shown once, stored as a hash and listed newest first without the secret", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const expiresAt = DateTime.formatIso(DateTime.add(yield* DateTime.now, { days: 30 }))
      const first = yield* create(owner, { name: "  deploy ", scopes: ["agents", "chat", "agents"], expiresAt })
      assert.strictEqual(first.status, 201, first.text)
      assert.strictEqual(first.headers["cache-control"], "no-store")
      const secret = String(first.body["key"])
      assert.match(secret, /^berth_[\w-]{43}$/)
      s.assertShape(first.body, {
        id: s.prefixedId("key"),
        name: s.equalTo("deploy"),
        scopes: Array.isArray,
        hint: s.equalTo(secret.slice(0, 10)),
        createdAt: s.recentTimestamp,
        expiresAt: s.equalTo(expiresAt),
        lastUsedAt: s.equalTo(null),
        key: s.equalTo(secret)
      })
      assert.deepStrictEqual(first.body["scopes"], ["agents", "chat"])
      const second = yield* create(owner, { name: "second", scopes: ["gateway"] })
      assert.strictEqual(second.body["expiresAt"], null)
      const { key: _key, ...listedFirst } = first.body
      const { key: _other, ...listedSecond } = second.body
      const all = yield* call("GET", "/api/keys", owner)
      assert.deepStrictEqual(all.body, { keys: [listedSecond, listedFirst], total: 2, limit: 50, offset: 0 })
      const page = yield* call("GET", "/api/keys?limit=1&offset=1", owner)
      assert.deepStrictEqual(page.body, { keys: [listedFirst], total: 2, limit: 1, offset: 1 })
      const [row] = yield* sql`select to_jsonb(api_keys) as row from api_keys where id = ${String(first.body["id"])}`
      assert.notInclude(JSON.stringify(row), secret.slice(10))
      assert.include(JSON.stringify(row), createHash("sha256").update(secret).digest("hex"))
    })
  )

  it.effect("API keys are validated: name, scopes and expiry", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const good = { name: "n".repeat(64), scopes: ["chat"] }
      assert.strictEqual((yield* create(owner, good)).status, 201)
      for (const [json, code] of [
        [{}, "invalid_request"],
        [{ ...good, name: " " }, "invalid_request"],
        [{ ...good, name: "n".repeat(65) }, "invalid_request"],
        [{ ...good, name: "a\nb" }, "invalid_request"],
        [{ ...good, scopes: [] }, "invalid_request"],
        [{ ...good, scopes: ["everything"] }, "invalid_request"],
        [{ ...good, scopes: "chat" }, "invalid_request"],
        [{ ...good, expiresAt: "tomorrow" }, "invalid_request"],
        [{ ...good, expiresAt: "2020-01-01T00:00:00Z" }, "api_key_expiry_invalid"]
      ] as const) {
        const refused = yield* create(owner, json)
        assert.deepStrictEqual([refused.status, refused.body["code"]], [400, code], refused.text)
      }
      const admin = yield* create(owner, { ...good, scopes: ["admin"] })
      assert.deepStrictEqual([admin.status, admin.body["code"]], [403, "admin_scope_not_allowed"])
    })
  )

  it.effect("API keys need a recent sign-in, and are reported to the verified address", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      yield* (yield* UserRepository).markEmailVerified(owner.user.id)
      yield* createApiKey(owner, "chat")
      const notices = yield* readMailsTo(owner.user.email)
      assert.include(notices[0]?.text, 'The API key "test" was created.')
      yield* sql`update sessions set authenticated_at = now() - interval '11 minutes' where user_id = ${owner.user.id}`
      const refused = yield* create(owner, { name: "late", scopes: ["chat"] })
      assert.deepStrictEqual([refused.status, refused.body["code"]], [403, "recent_sign_in_required"])
    })
  )

  it.effect(`API keys number at most ${maximumApiKeysPerUser} per user, also when created concurrently`, () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const attempts = Array.from({ length: maximumApiKeysPerUser + 6 }, (_, index) =>
        create(owner, { name: `key ${index}`, scopes: ["chat"] })
      )
      const answers = yield* Effect.all(attempts, { concurrency: 8 })
      assert.lengthOf(
        answers.filter(({ status }) => status === 201),
        maximumApiKeysPerUser
      )
      for (const { body } of answers.filter(({ status }) => status !== 201))
        assert.strictEqual(body["code"], "api_key_limit_reached")
      assert.strictEqual((yield* call("GET", "/api/keys", owner)).body["total"], maximumApiKeysPerUser)
    })
  )

  it.effect("A loop that creates and revokes API keys is ended by a limit of the account", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* App.signInNewUser(), yield* App.signInNewUser()]
      const limiter = yield* RateLimiter
      const { count } = defaultLimits["api-keys"]
      yield* Effect.replicateEffect(limiter.take("api-keys", owner.user.id), count - 1)
      const key = yield* createApiKey(owner, "chat")
      assert.strictEqual((yield* call("DELETE", `/api/keys/${key.id}`, owner)).status, 200)
      const refused = yield* create(owner, { name: "again", scopes: ["chat"] })
      assert.deepStrictEqual([refused.status, refused.body["code"]], [429, "rate_limit_exceeded"])
      assert.property(refused.headers, "retry-after")
      yield* createApiKey(other, "chat")
    })
  )

  it.effect("API keys are revoked by their owner alone", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* App.signInNewUser(), yield* App.signInNewUser()]
      const key = yield* createApiKey(owner, "agents")
      assert.strictEqual((yield* call("DELETE", `/api/keys/${key.id}`, stranger)).status, 404)
      assert.strictEqual((yield* agentsBy(key.headers)).status, 200)
      assert.strictEqual((yield* call("DELETE", `/api/keys/${key.id}`, owner)).status, 200)
      assert.strictEqual((yield* agentsBy(key.headers)).status, 401)
      const again = yield* call("DELETE", `/api/keys/${key.id}`, owner)
      assert.deepStrictEqual([again.status, again.body["code"]], [404, "api_key_not_found"])
    })
  )

  it.effect("API keys record their last use", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const key = yield* createApiKey(owner, "agents")
      const lastUse = Effect.map(call("GET", "/api/keys", owner), ({ text }) =>
        Number(Date.parse(/"lastUsedAt":"([^"]+)"/.exec(text)?.[1] ?? "never"))
      )
      assert.isNaN(yield* lastUse)
      yield* agentsBy(key.headers)
      const first = yield* eventually(lastUse, (at) => at > 0)
      yield* sql`update api_keys set last_used_at = last_used_at - interval '61 seconds' where id = ${key.id}`
      yield* agentsBy(key.headers)
      yield* eventually(lastUse, (at) => at >= first)
    })
  )

  it.effect("API keys with the scope admin end with the administration of their owner", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const owner = yield* App.signInNewUser()
      yield* Effect.orDie(users.update(owner.user.id, { email: Email.make(App.testAdminEmail) }))
      const key = yield* createApiKey(owner, "admin")
      const search = App.web({ method: "GET", path: "/api/ops/users", headers: key.headers })
      assert.strictEqual((yield* search).status, 200)
      yield* Effect.orDie(users.update(owner.user.id, { email: owner.user.email }))
      const forbidden = yield* search
      assert.deepStrictEqual([forbidden.status, forbidden.body["code"]], [403, "scope_missing"])
    })
  )

  it.effect("API keys appear in no log line and no span, except by id", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const key = yield* createApiKey(owner, "agents", "chat")
      yield* agentsBy(key.headers)
      yield* App.web({ method: "GET", path: `/api/agents?key=${key.key}` })
      yield* App.web({ method: "GET", path: `/agents/${owner.agent.id}/ws?token=${key.key}` })
      yield* App.web({ method: "GET", path: "/api/settings", headers: key.headers })
      yield* expireApiKey(key)
      yield* agentsBy(key.headers)
      const lines = yield* logLines
      assert.isTrue(lines.some((line) => line.includes('"Request"') && line.includes(key.id)))
      const spans = JSON.stringify(recorded.spans.map((attributes) => [...attributes]))
      assert.include(spans, `["berth.api_key.id","${key.id}"]`)
      assert.notInclude([...lines, spans].join("\n"), key.key.slice(10))
    })
  )

  it.effect("API keys authenticate by one statement", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const key = yield* createApiKey(owner, "agents")
      const statementsOf = (headers: Readonly<Record<string, string>>) =>
        Effect.gen(function* () {
          const before = recorded.spans.length
          assert.strictEqual((yield* agentsBy(headers)).status, 200)
          return recorded.spans.slice(before).filter((attributes) => attributes.has("db.query.text")).length
        })
      yield* agentsBy(key.headers)
      yield* eventually(
        Effect.map(call("GET", "/api/keys", owner), ({ text }) => text),
        (text) => !text.includes('"lastUsedAt":null')
      )
      assert.deepStrictEqual(
        [yield* statementsOf({}), yield* statementsOf(key.headers), yield* statementsOf({ cookie: owner.cookie })],
        [0, 2, 2]
      )
    })
  )

  it.effect("API keys charge their owner and share the owner's idempotency keys", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { headers } = yield* createApiKey(owner, "gateway")
      const once = { "idempotency-key": "once" }
      const first = yield* gatewayCall({ headers: { ...headers, ...once } })
      assert.strictEqual(first.status, 200, first.text)
      assert.strictEqual(yield* readUsedUnits(owner), 1)
      const bySession = yield* gatewayCall({ as: owner, headers: once })
      assert.strictEqual(bySession.headers["idempotent-replayed"], "true")
      assert.strictEqual(yield* readUsedUnits(owner), 1)
    })
  )

  it.effect("API keys are not accepted in a query", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { key } = yield* createApiKey(owner, "agents", "chat")
      for (const name of ["token", "key", "access_token"]) {
        const socket = yield* App.web({ method: "GET", path: `/agents/${owner.agent.id}/ws?${name}=${key}` })
        assert.strictEqual(socket.status, 401, socket.text)
        const listed = yield* App.web({ method: "GET", path: `/api/agents?${name}=${key}` })
        assert.deepStrictEqual(listed.body["agents"], [])
      }
    })
  )

  it.effect("API keys change skills and credentials only with the scope agents too", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const act = (headers: Readonly<Record<string, string>>, json: unknown) =>
        App.web({ method: "POST", path: "/api/agent", headers, json })
      const [chat, both] = [yield* createApiKey(owner, "chat"), yield* createApiKey(owner, "chat", "agents")]
      for (const json of [
        { action: "update-skill", skillId: "time", enabled: true },
        { action: "set-credential", key: "openai", value: "sk-value" }
      ]) {
        const refused = yield* act(chat.headers, json)
        assert.deepStrictEqual([refused.status, refused.body["code"]], [403, "scope_missing"], refused.text)
        const accepted = yield* act(both.headers, json)
        assert.strictEqual(accepted.status, 200, accepted.text)
      }
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("A bearer token", (it) => {
  it.effect("A bearer token that is invalid is 401 on GET /api/agents, with or without a session cookie", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      for (const token of ["wrong", "a.b.c", "berth_wrong", `${"A".repeat(43)}=`, "", "a b", "a.b c", "berth_a b"])
        for (const cookie of [{}, { cookie: owner.cookie }]) {
          const refused = yield* agentsBy({ ...bearer(token), ...cookie })
          assert.deepStrictEqual([refused.status, refused.body["code"]], [401, "unauthorized"], refused.text)
          assert.strictEqual(refused.headers["www-authenticate"], 'Bearer realm="berth", error="invalid_token"')
        }
      assert.strictEqual((yield* agentsBy({})).status, 200)
      assert.strictEqual((yield* agentsBy({ cookie: `${owner.cookie}x` })).status, 200)
      assert.strictEqual((yield* agentsBy({ authorization: "Bearer" })).status, 401)
      for (const authorization of ["Basic d3Jvbmc=", "Basic", "Bearers x", "Payment x"])
        assert.strictEqual((yield* agentsBy({ authorization })).status, 200, authorization)
    })
  )

  it.effect("A bearer token that is invalid is ignored by pages and by routes without authentication", () =>
    Effect.gen(function* () {
      for (const path of ["/login", "/pricing", "/openapi.json", "/.well-known/jwks.json", "/health/live"])
        assert.strictEqual((yield* App.web({ method: "GET", path, headers: bearer("wrong") })).status, 200, path)
    })
  )

  it.effect("A bearer token of a session that ended is 401", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const issued = yield* App.web({ method: "POST", path: "/api/auth/token", as: owner })
      const headers = bearer(String(issued.body["token"]))
      const billing = App.web({ method: "GET", path: "/api/billing", headers })
      assert.strictEqual((yield* billing).status, 200)
      yield* (yield* Sessions).revokeAll(owner.user.id)
      assert.strictEqual((yield* billing).status, 401)
    })
  )
})
