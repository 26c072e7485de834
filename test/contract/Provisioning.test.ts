import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { insertUser } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { lapseSubscription } from "./OwnerFixtures.ts"
import type { PlanId } from "@berth/domain/shared/PlanId"
import { AgentId } from "@berth/domain/shared/AgentId"

const provision = (as: App.SignedIn, json: unknown = { name: "An agent" }, headers: Record<string, string> = {}) =>
  App.web({ method: "POST", path: "/api/agents/provision", as, json, headers })

const decodeProvisioned = Schema.decodeUnknown(Schema.Struct({ agent: Schema.Struct({ id: AgentId }) }))
const idOf = ({ body }: HttpCallResponse) => Effect.map(Effect.orDie(decodeProvisioned(body)), ({ agent }) => agent.id)

const agentsOf = (as: App.SignedIn) => Effect.flatMap(AgentRepository, ({ listOwned }) => listOwned(as.user.id))

/**
 * Sends concurrent requests; returns the number of accepted ones and asserts that the plan's limit rejected the
 * others.
 */
const accepted = (as: App.SignedIn, requests: number, limit: number) =>
  Effect.gen(function* () {
    const answers = yield* Effect.replicateEffect(provision(as), requests, { concurrency: "unbounded" })
    for (const answer of answers) {
      if (answer.status === 201) continue
      assertError(answer, { status: 429, code: "plan_limit_reached" })
      assert.deepStrictEqual([answer.body["current"], answer.body["limit"]], [limit, limit])
    }
    return answers.filter(({ status }) => status === 201).length
  })

const administrator = Effect.gen(function* () {
  const { id } = yield* insertUser("admin")
  yield* sql`update users set email = ${App.testAdminEmail.toUpperCase()} where id = ${id}`
  return yield* App.openSession(yield* Effect.flatten((yield* UserRepository).find(id)))
})

layer(App.layer(), { excludeTestServices: true })("Agent limits", (it) => {
  const plans: ReadonlyArray<readonly [PlanId, number]> = [
    ["free", 1],
    ["starter", 1],
    ["solo", 1],
    ["pro", 3],
    ["collective", 3],
    ["scale", 3],
    ["label", 10],
    ["enterprise", 100]
  ]
  for (const [plan, limit] of plans)
    it.effect(`Provisioning allows exactly ${limit} agents on ${plan} under concurrent requests`, () =>
      Effect.gen(function* () {
        const owner = yield* App.signInNewUser(plan)
        assert.strictEqual(yield* accepted(owner, limit + 5, limit), limit)
        assert.strictEqual((yield* agentsOf(owner)).length, limit)
      })
    )

  it.effect("Provisioning allows one agent on an unrecognized plan", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("enterprise")
      yield* sql`update subscriptions set plan = 'platinum' where user_id = ${owner.user.id}`
      yield* sql`update users set plan = 'platinum' where id = ${owner.user.id}`
      const settings = yield* App.web({ method: "GET", path: "/api/settings", as: owner })
      assert.deepStrictEqual([settings.status, settings.body["plan"]], [200, "free"])
      assert.strictEqual(yield* accepted(owner, 4, 1), 1)
    })
  )

  it.effect("Provisioning allows any number of agents on network", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("network")
      assert.strictEqual(yield* accepted(owner, 110, Number.NaN), 110)
    })
  )

  it.effect("Provisioning does not count failed agents towards the limit", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("starter")
      const id = yield* idOf(yield* provision(owner))
      assert.strictEqual(yield* accepted(owner, 1, 1), 0)
      assert.isTrue(yield* (yield* AgentRepository).changeStatus(id, "provisioning", "error"))
      assert.strictEqual(yield* accepted(owner, 3, 1), 1)
    })
  )

  it.effect("Provisioning requires an active subscription", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("enterprise")
      for (const status of ["past_due", "canceled"] as const) {
        yield* lapseSubscription(owner, status)
        assertError(yield* provision(owner), { status: 402, code: "subscription_required" })
      }
      assert.strictEqual((yield* agentsOf(owner)).length, 0)
      yield* lapseSubscription(owner, "active")
      assert.strictEqual((yield* provision(owner)).status, 201)
    })
  )

  it.effect("Provisioning allows an administrator 999 agents without a subscription", () =>
    Effect.gen(function* () {
      const owner = yield* administrator
      assert.strictEqual((yield* provision(owner)).status, 201)
      yield* sql`
        insert into agents select 'agt_' || n, owner_id, name, model, custom_model, status, config, created_at, updated_at
        from agents, generate_series(1, 997) n where owner_id = ${owner.user.id}`
      assert.strictEqual(yield* accepted(owner, 5, 999), 1)
    })
  )

  it.effect(
    "Provisioning accepts the configuration of another agent with its model, over which `model` takes precedence",
    () =>
      Effect.gen(function* () {
        const owner = yield* App.signInNewUser("enterprise")
        const configure = (request: { readonly model?: string; readonly config: unknown }) =>
          Effect.gen(function* () {
            const id = yield* idOf(yield* provision(owner, { name: "An agent", ...request }))
            return (yield* App.web({ method: "GET", path: `/api/agents/${id}/config`, as: owner })).body["config"]
          })
        const custom = {
          model: "custom",
          customModel: "sandbox/echo",
          systemPrompt: "Be brief.",
          timezone: "Asia/Tokyo"
        }
        const config = yield* configure({ config: custom })
        assert.deepInclude(config, custom)
        assert.deepStrictEqual(yield* configure({ config }), config)
        assert.deepInclude(yield* configure({ model: "gpt-4", config }), { model: "gpt-4", customModel: null })
      })
  )

  it.effect("Provisioning of one owner does not wait for another's", () =>
    Effect.gen(function* () {
      const owners = yield* Effect.replicateEffect(App.signInNewUser("starter"), 6)
      const answers = yield* Effect.forEach(owners, (owner) => provision(owner), { concurrency: "unbounded" })
      assert.isTrue(answers.every(({ status }) => status === 201))
    })
  )
})

layer(App.shared, { excludeTestServices: true })("An Idempotency-Key", (it) => {
  const withKey = (as: App.SignedIn, key: string, json: unknown = { name: "Once" }) =>
    provision(as, json, { "idempotency-key": key })

  it.effect("An Idempotency-Key returns the first response unchanged to every session of its owner", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const first = yield* withKey(owner, "key")
      const again = yield* withKey(owner, "key")
      const elsewhere = yield* withKey(yield* App.openSession(owner.user), "key")
      assert.deepStrictEqual(
        [first, again, elsewhere].map(({ status, text }) => [status, text]),
        Array.from({ length: 3 }, () => [201, first.text])
      )
      assert.deepStrictEqual(
        [first, again].map(({ headers }) => headers["idempotent-replayed"]),
        [undefined, "true"]
      )
      assert.strictEqual(again.headers["content-type"], first.headers["content-type"])
      assert.notStrictEqual(again.headers["x-request-id"], first.headers["x-request-id"])
      assert.strictEqual((yield* agentsOf(owner)).length, 1)
    })
  )

  it.effect("An Idempotency-Key applies to a bearer session token as to the cookie", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const token = yield* Effect.provide(
        Effect.flatMap(SocialSessions, ({ open }) => open(owner.user.id)),
        SocialSessions.Default
      )
      const headers = { authorization: `Bearer ${Redacted.value(token)}`, "idempotency-key": "key" }
      const json = { name: "Once" }
      const first = yield* App.web({ method: "POST", path: "/api/agents/provision", json, headers })
      const again = yield* App.web({ method: "POST", path: "/api/agents/provision", json, headers })
      assert.deepStrictEqual([again.status, again.text], [201, first.text])
      assert.strictEqual((yield* withKey(owner, "key")).text, first.text)
      assert.strictEqual((yield* agentsOf(owner)).length, 1)
    })
  )

  it.effect("An Idempotency-Key executes concurrent requests once", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("label")
      const answers = yield* Effect.replicateEffect(withKey(owner, "key"), 8, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
      assert.strictEqual(answers[0]?.status, 201)
      assert.strictEqual((yield* agentsOf(owner)).length, 1)
    })
  )

  it.effect("An Idempotency-Key with another body is rejected", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      yield* withKey(owner, "key")
      for (const json of [{ name: "Twice" }, { name: "Once", model: "gpt-4" }, {}])
        assertError(yield* withKey(owner, "key", json), { status: 422, code: "idempotency_key_reused" })
      assert.strictEqual((yield* agentsOf(owner)).length, 1)
    })
  )

  /** The state after a server was killed between its transaction and the storing of the response. */
  const dieUnanswered = sql`update idempotency_keys set response_sealed = null, lease_until = now() - interval '1 second'`

  it.effect(
    "An Idempotency-Key creates one agent also when the server crashes before it responds or stores the response",
    () =>
      Effect.gen(function* () {
        const owner = yield* App.signInNewUser("starter")
        const first = yield* withKey(owner, "key")
        yield* dieUnanswered
        const again = yield* Effect.replicateEffect(withKey(owner, "key"), 4, { concurrency: "unbounded" })
        for (const answer of again) assert.deepStrictEqual([answer.status, answer.text], [201, first.text])
        yield* dieUnanswered
        yield* lapseSubscription(owner)
        assert.deepStrictEqual((yield* withKey(owner, "key")).text, first.text)
        assert.strictEqual((yield* agentsOf(owner)).length, 1)
      })
  )

  it.effect("A request whose response cannot be stored is answered, and a repeat names the same agent", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const first = yield* Effect.acquireUseRelease(
        sql`alter table idempotency_keys rename column response_sealed to hidden`.pipe(
          Effect.zipRight(
            sql`alter table idempotency_keys add column response_sealed text check (response_sealed is null)`
          )
        ),
        () => withKey(owner, "key"),
        () =>
          sql`alter table idempotency_keys drop column response_sealed`.pipe(
            Effect.zipRight(sql`alter table idempotency_keys rename column hidden to response_sealed`),
            Effect.orDie
          )
      )
      assert.strictEqual(first.status, 201)
      yield* sql`update idempotency_keys set lease_until = now()`
      assert.strictEqual((yield* withKey(owner, "key")).text, first.text)
      assert.strictEqual((yield* agentsOf(owner)).length, 1)
    })
  )

  it.effect("An Idempotency-Key of one owner does not affect another owner", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* App.signInNewUser("pro"), yield* App.signInNewUser("pro")]
      const ids = [yield* idOf(yield* withKey(one, "key")), yield* idOf(yield* withKey(other, "key", { name: "Mine" }))]
      assert.strictEqual(new Set(ids).size, 2)
      assert.deepStrictEqual(
        (yield* agentsOf(other)).map(({ name }) => name),
        ["Mine"]
      )
    })
  )

  it.effect("An Idempotency-Key can be used again after a rejected request", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const headers = { "idempotency-key": "key", "content-type": "application/json" }
      const malformed = yield* App.web({
        method: "POST",
        path: "/api/agents/provision",
        as: owner,
        body: "{bad",
        headers
      })
      assertError(malformed, { status: 400, code: "body_malformed" })
      assertError(yield* withKey(owner, "key", {}), { status: 400, code: "invalid_request" })
      assertError(yield* withKey(owner, "key"), { status: 402, code: "subscription_required" })
      const subscriber = yield* App.signInNewUser("starter")
      yield* provision(subscriber)
      assertError(yield* withKey(subscriber, "key"), { status: 429, code: "plan_limit_reached" })
      const [agent] = yield* agentsOf(subscriber)
      if (agent !== undefined) yield* (yield* AgentRepository).changeStatus(agent.id, "provisioning", "error")
      assert.strictEqual((yield* withKey(subscriber, "key")).status, 201)
    })
  )

  it.effect("An Idempotency-Key must have 1 to 255 characters without control characters", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      for (const key of ["", "k".repeat(256), "a\tb"])
        assertError(yield* withKey(owner, key), { status: 400, code: "idempotency_key_invalid" })
      assert.strictEqual((yield* withKey(owner, "k".repeat(255))).status, 201)
      const other = yield* App.signInNewUser("pro")
      assert.strictEqual((yield* withKey(other, "Cl\u00c3\u0080 ~!")).status, 201)
    })
  )

  it.effect("An Idempotency-Key changes neither authentication nor routes that create nothing", () =>
    Effect.gen(function* () {
      const headers = { "idempotency-key": "key" }
      assertError(yield* App.web({ method: "POST", path: "/api/agents/provision", json: { name: "a" }, headers }), {
        status: 401,
        code: "unauthorized"
      })
      const owner = yield* App.signInNewUser("pro")
      const rename = (name: string) =>
        App.web({ method: "POST", path: "/api/settings", as: owner, json: { name }, headers })
      assert.deepStrictEqual([(yield* rename("One")).body["name"], (yield* rename("Two")).body["name"]], ["One", "Two"])
    })
  )
})
