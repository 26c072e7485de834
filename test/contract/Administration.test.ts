import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { Email } from "@berth/domain/shared/Email"
import type { User } from "@berth/domain/shared/User"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option, Redacted, Schema, Stream } from "effect"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { asAdministrator, auditOf, signInAdministrator } from "./AdministratorFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { gatewayCall, helloRequest, textAnswer } from "./GatewayPayments.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import { assertShape, equalTo, recentTimestamp, naturalNumber } from "./ResponseShapes.ts"

const get = (path: string) => asAdministrator({ method: "GET", path })
const post = (path: string, json: unknown, headers: Readonly<Record<string, string>> = {}) =>
  asAdministrator({ method: "POST", path, json, headers })
const setPlan = ({ id }: User, plan: string) =>
  asAdministrator({ method: "PUT", path: `/api/ops/users/${id}/plan`, json: { plan, reason: "a courtesy" } })

const decodeProviders = Schema.decodeUnknown(Schema.Struct({ providers: Schema.Array(Schema.Unknown) }))

/** Calls `openai`, which answers, then `anthropic`, which fails and falls back to `openai`. */
const assertListsProviders = Effect.gen(function* () {
  const { withBehavior } = yield* ModelProvidersTest
  const as = yield* App.signInNewUser("pro")
  const call = (model: string) => gatewayCall({ as, json: { ...helloRequest, model } })
  const nothing = { breaker: "closed", lastSuccess: null, lastFailure: null }
  assert.deepStrictEqual((yield* get("/api/ops/providers")).body, {
    providers: [
      { provider: "anthropic", reachable: true, ...nothing },
      { provider: "openai", reachable: true, ...nothing }
    ]
  })
  assert.strictEqual((yield* call("openai/gpt-4")).status, 200)
  const reason = "a planted reason of the vendor"
  const listed = yield* withBehavior({
    healthy: (name) => Effect.succeed(name === "openai"),
    chat: (model) =>
      model.startsWith("anthropic")
        ? Stream.fail(new ProviderFailed({ provider: "anthropic", kind: "overloaded", reason }))
        : textAnswer("Good day.")
  })(Effect.zipRight(call("anthropic/claude-opus-4-6"), get("/api/ops/providers")))
  const [anthropic, openai] = (yield* decodeProviders(listed.body)).providers
  assertShape(anthropic, {
    provider: equalTo("anthropic"),
    reachable: equalTo(false),
    breaker: equalTo("closed"),
    lastSuccess: equalTo(null),
    lastFailure: { at: recentTimestamp, kind: equalTo("overloaded") }
  })
  assertShape(openai, {
    provider: equalTo("openai"),
    reachable: equalTo(true),
    breaker: equalTo("closed"),
    lastSuccess: { at: recentTimestamp, firstTextMs: naturalNumber },
    lastFailure: equalTo(null)
  })
  assert.notInclude(listed.text, reason)
})

layer(App.layer(), { excludeTestServices: true })("Administration", (it) => {
  it.effect("GET /api/ops/users finds users by the beginning of the address in any case, and by id, page by page", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* App.signInNewUser(), yield* App.signInNewUser("pro")]
      const prefix = first.user.email.slice(0, -1).toUpperCase()
      const byEmail = yield* get(`/api/ops/users?query=${encodeURIComponent(prefix)}`)
      assert.strictEqual(byEmail.status, 200, byEmail.text)
      assert.deepStrictEqual(byEmail.body, {
        users: [
          {
            id: first.user.id,
            email: first.user.email,
            emailVerified: false,
            name: "guest",
            plan: "free",
            credits: 0,
            suspendedAt: null,
            isAdministrator: false,
            createdAt: DateTime.formatIso(first.user.createdAt)
          }
        ],
        total: 1,
        limit: 50,
        offset: 0
      })
      const idsOf = (query: string) =>
        Effect.map(get(`/api/ops/users?${query}`), ({ body }) => [
          body["total"],
          Array.isArray(body["users"]) ? body["users"].map((user: { readonly id: string }) => user.id) : []
        ])
      assert.deepStrictEqual(yield* idsOf(`query=${second.user.id}`), [1, [second.user.id]])
      assert.deepStrictEqual(yield* idsOf("query=guest-&limit=1"), [2, [second.user.id]])
      assert.deepStrictEqual(yield* idsOf("query=guest-&limit=1&offset=1"), [2, [first.user.id]])
      for (const query of ["%25", "_", "usr_", "guest-%00"])
        assert.deepStrictEqual(yield* idsOf(`query=${query}`), [0, []])
      assertError(yield* get("/api/ops/users?limit=many"), { status: 400, code: "invalid_request" })
    })
  )

  it.effect("GET /api/ops/users/:id returns the account without secrets and conversations, and audits the read", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      const { id } = owner.user
      const planted = { action: "set-credential", key: "openai", value: "sk-planted-key-of-the-owner" }
      yield* App.web({ method: "POST", path: "/api/agent", as: owner, json: planted })
      const token = Redacted.value(yield* (yield* InstanceRepository).ensureGatewayToken(id))
      yield* App.web({ method: "POST", path: "/api/chat", as: owner, json: { message: "a planted message" } })
      yield* App.web({
        method: "PATCH",
        path: `/api/agents/${owner.agent.id}/config`,
        as: owner,
        json: { systemPrompt: "a planted prompt" }
      })
      const found = yield* get(`/api/ops/users/${id}`)
      assert.strictEqual(found.status, 200, found.text)
      assert.deepInclude(found.body, {
        id,
        plan: "pro",
        subscription: { plan: "pro", status: "active", byCard: false },
        agents: [
          {
            id: owner.agent.id,
            name: "agent",
            model: "claude-opus-4-6",
            status: "running",
            createdAt: DateTime.formatIso(owner.agent.createdAt)
          }
        ]
      })
      assert.deepInclude(found.body["units"], { dailyUnits: 1000 })
      assert.deepInclude(found.body["instance"], { status: "provisioning", desired: "down" })
      const everything = [found, yield* get("/api/ops/users?limit=100"), yield* get("/api/ops/audit?limit=100")]
      for (const { text } of everything)
        for (const secret of ["planted", token, owner.cookie.split("=")[1] ?? "none", "argon2", "sealed", "token"])
          assert.notInclude(text, secret)
      assert.deepStrictEqual(yield* auditOf(id), [{ action: "user.read", before: null, after: null, reason: null }])
      assertError(yield* get("/api/ops/users/usr_0"), { status: 404, code: "user_not_found" })
      assert.deepStrictEqual(yield* auditOf(UserId.make("usr_0")), [])
    })
  )

  it.effect("PUT /api/ops/users/:id/plan sets and ends a plan by hand, with its rights and an audit entry", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const planned = yield* setPlan(owner.user, "pro")
      assert.strictEqual(planned.status, 200, planned.text)
      assert.deepInclude(planned.body, { id: owner.user.id, plan: "pro" })
      const provisioned = yield* App.web({
        method: "POST",
        path: "/api/agents/provision",
        as: owner,
        json: { name: "One" }
      })
      assert.strictEqual(provisioned.status, 201, provisioned.text)
      assert.deepInclude((yield* setPlan(owner.user, "free")).body, { plan: "free" })
      assert.deepInclude((yield* setPlan(owner.user, "free")).body, { plan: "free" })
      const refused = yield* App.web({
        method: "POST",
        path: "/api/agents/provision",
        as: owner,
        json: { name: "Two" }
      })
      assert.strictEqual(refused.status, 402)
      const change = (before: string, after: string) => ({
        action: "user.change_plan",
        before: { plan: before },
        after: { plan: after },
        reason: "a courtesy"
      })
      assert.deepStrictEqual(yield* auditOf(owner.user.id), [
        change("free", "free"),
        change("pro", "free"),
        change("free", "pro")
      ])
    })
  )

  it.effect("PUT /api/ops/users/:id/plan is refused while a card pays for the plan, and writes nothing", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      const { saveWithTerms } = yield* SubscriptionRepository
      const terms = {
        customerId: "cus_1",
        subscriptionId: "sub_1",
        currentPeriodEnd: Option.none(),
        lastEventAt: yield* DateTime.now
      }
      for (const status of ["active", "past_due"] as const) {
        yield* saveWithTerms({ userId: user.id, plan: "pro", status }, terms)
        assertError(yield* setPlan(user, "scale"), { status: 409, code: "card_subscription_active" })
      }
      assert.deepStrictEqual(yield* auditOf(user.id), [])
      yield* saveWithTerms({ userId: user.id, plan: "pro", status: "canceled" }, terms)
      assert.deepInclude((yield* setPlan(user, "scale")).body, { plan: "scale" })
    })
  )

  it.effect("POST /api/ops/users/:id/credits gives and takes credits once per Idempotency-Key under concurrency", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* App.signInNewUser(), yield* App.signInNewUser()]
      const credit = ({ user }: App.SignedIn, amount: number, key?: string) =>
        post(
          `/api/ops/users/${user.id}/credits`,
          { amount, reason: "goodwill" },
          key === undefined ? {} : { "idempotency-key": key }
        )
      const credited = yield* Effect.replicateEffect(credit(owner, 10.5, "key-1"), 8, { concurrency: "unbounded" })
      for (const { body, status, text } of credited)
        assert.deepStrictEqual([status, body], [200, { credits: 10.5 }], text)
      assertError(yield* credit(other, 10.5, "key-1"), { status: 422, code: "idempotency_key_reused" })
      assert.deepStrictEqual((yield* credit(owner, -0.5)).body, { credits: 10 })
      assertError(yield* credit(owner, -10.01), { status: 409, code: "credits_insufficient" })
      assert.deepStrictEqual(yield* auditOf(owner.user.id), [
        { action: "user.adjust_credits", before: { credits: 10.5 }, after: { credits: 10 }, reason: "goodwill" },
        { action: "user.adjust_credits", before: { credits: 0 }, after: { credits: 10.5 }, reason: "goodwill" }
      ])
      assert.deepStrictEqual(yield* auditOf(other.user.id), [])
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("A response stored for an Idempotency-Key is refused after its administrator lost the role", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const [former, owner] = [yield* signInAdministrator, yield* App.signInNewUser()]
      const rename = (email: Email) => Effect.orDie(users.update(former.user.id, { email }))
      const credit = (key: string) =>
        App.web({
          method: "POST",
          path: `/api/ops/users/${owner.user.id}/credits`,
          as: former,
          headers: { "idempotency-key": key },
          json: { amount: 1, reason: "goodwill" }
        })
      assert.strictEqual((yield* credit("kept")).status, 200)
      yield* rename(Email.make("former@example.com"))
      for (const key of ["kept", ""]) assertError(yield* credit(key), { status: 403, code: "administrator_required" })
      yield* rename(former.user.email)
    })
  )

  it.effect("POST /api/ops/users/:id/confirm-email confirms the address and is idempotent", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      for (const isFirst of [true, false]) {
        const confirmed = yield* post(`/api/ops/users/${user.id}/confirm-email`, { reason: "mail is down" })
        assert.deepInclude(confirmed.body, { id: user.id, emailVerified: true }, String(isFirst))
      }
      const entry = (emailVerified: boolean) => ({
        action: "user.confirm_email",
        before: { emailVerified },
        after: { emailVerified: true },
        reason: "mail is down"
      })
      assert.deepStrictEqual(yield* auditOf(user.id), [entry(true), entry(false)])
    })
  )

  it.effect("GET /api/ops/audit lists entries by user and by actor, with the id of the request", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      const administrator = yield* signInAdministrator
      yield* asAdministrator({
        method: "GET",
        path: `/api/ops/users/${user.id}`,
        headers: { "x-request-id": "audited-request" }
      })
      const { body, text } = yield* get(`/api/ops/audit?user=${user.id}&actor=${administrator.user.id}`)
      assert.deepInclude(body, { total: 1, limit: 50, offset: 0 })
      assert.include(text, `"actor":"${administrator.user.id}","action":"user.read","userId":"${user.id}"`)
      assert.include(text, '"requestId":"audited-request"')
      assert.include(text, `"actorEmail":"${App.testAdminEmail}","userEmail":"${user.email}"`)
      assert.deepInclude((yield* get(`/api/ops/audit?user=${user.id}&actor=command:root`)).body, {
        entries: [],
        total: 0
      })
    })
  )

  it.effect("GET /api/ops/instances lists instances with their figures while they should run", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      const instances = yield* InstanceRepository
      const row = (desired: string, cpuPercent: number | null, memoryBytes: number | null) =>
        `{"userId":"${owner.user.id}","ownerEmail":"${owner.user.email}","ownerName":"guest","status":"provisioning","desired":"${desired}","startedAt":null,"runtimeVersion":null,"cpuPercent":${cpuPercent},"memoryBytes":${memoryBytes}}`
      assert.include((yield* get("/api/ops/instances?limit=1")).text, row("down", null, null))
      yield* instances.update(owner.user.id, { desired: "up" })
      const listed = yield* get("/api/ops/instances?limit=1")
      assert.include(listed.text, row("up", 1.234, 67_108_864))
      assert.deepInclude(listed.body, { limit: 1, offset: 0 })
    })
  )

  it.effect("GET /api/ops/providers lists the health of the AI layer in this process", () => assertListsProviders)

  it.effect(
    "POST /api/ops/instances/:userId/<action> appends one audited job, and only a stop during a suspension",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("pro")
        const { id } = owner.user
        const act = (action: string, userId: string = id) =>
          post(`/api/ops/instances/${userId}/${action}`, { reason: "it hangs" })
        const actions = ["start", "stop", "restart", "repair"]
        for (const action of actions) {
          const accepted = yield* act(action)
          assert.deepStrictEqual([accepted.status, accepted.body], [202, { success: true }], accepted.text)
        }
        const jobs = sql`
        select payload->>'action' as action from outbox
        where name = 'act-on-instance' and payload->>'userId' = ${id} order by position`
        const requested = (yield* jobs).map(({ action }) => action)
        assert.deepStrictEqual(requested, actions)
        assert.deepStrictEqual(
          (yield* auditOf(id)).toReversed(),
          actions.map((action) => ({
            action: `instance.${action}`,
            before: { status: "provisioning", desired: "down" },
            after: null,
            reason: "it hangs"
          }))
        )
        yield* (yield* UserRepository).setSuspendedAt(id, yield* DateTime.now)
        for (const action of actions)
          if (action !== "stop") assertError(yield* act(action), { status: 409, code: "user_suspended" })
        assert.strictEqual((yield* act("stop")).status, 202)
        assert.lengthOf(yield* jobs, 5)
        const { user } = yield* App.signInNewUser()
        assertError(yield* act("start", user.id), { status: 404, code: "user_instance_missing" })
        assertError(yield* act("start", "usr_0"), { status: 404, code: "user_not_found" })
      })
  )

  it.effect("Changes without a reason or with a malformed value are refused and write nothing", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      const credits = `/api/ops/users/${user.id}/credits`
      const long = "a".repeat(501)
      for (const json of [
        {},
        { amount: 1 },
        { amount: 1, reason: " " },
        { amount: 1, reason: long },
        ...[0, 0.001, 1_000_000.01, "1", null].map((amount) => ({ amount, reason: "x" }))
      ])
        assertError(yield* post(credits, json), { status: 400, code: "invalid_request" })
      assertError(yield* setPlan(user, "gold"), { status: 400, code: "invalid_request" })
      assert.deepStrictEqual(yield* auditOf(user.id), [])
    })
  )
})

layer(App.layer({ verifiedEmailsOnly: true }), { excludeTestServices: true })("Administration in production", (it) => {
  it.effect("An administrator with an unverified address is refused until the address is verified", () =>
    Effect.gen(function* () {
      assertError(yield* get("/api/ops/users"), { status: 403, code: "administrator_required" })
      const { user } = yield* signInAdministrator
      yield* (yield* UserRepository).markEmailVerified(user.id)
      assert.strictEqual((yield* get("/api/ops/users")).status, 200)
    })
  )
})

layer(App.layer({ aiLayerTransport: "remote" }), { excludeTestServices: true })(
  "Administration, with the AI layer in another process",
  (it) => {
    it.effect("GET /api/ops/providers lists the health of the AI layer behind the backend", () => assertListsProviders)
  }
)

layer(App.layer({ aiLayerTransport: "remote", remoteBackendUrl: "http://127.0.0.1:1" }), {
  excludeTestServices: true
})("Administration, without a backend", (it) => {
  it.effect("GET /api/ops/providers is 503 while the backend cannot be reached", () =>
    Effect.gen(function* () {
      assertError(yield* get("/api/ops/providers"), { status: 503, code: "service_unavailable" })
    })
  )
})
