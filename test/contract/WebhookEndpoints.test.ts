import { maximumEndpointsPerUser } from "@berth/domain/webhooks/WebhookEndpoint"
import { DomainEvents } from "@berth/domain/events/DomainEvents"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Email } from "@berth/domain/shared/Email"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent, exhaustUnits } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"
import { sendMessage } from "./TurnFixtures.ts"

const call = (method: string, path: string, as: App.SignedIn, json?: unknown) =>
  App.web({ method, path: `/api/webhooks/endpoints${path}`, as, ...(json === undefined ? {} : { json }) })
const subscription = { url: "https://receiver.example/hook", events: ["agent.status"] }

const endpoint = {
  id: s.prefixedId("whe"),
  url: s.equalTo(subscription.url),
  events: [s.equalTo("agent.status")],
  ordered: s.booleanValue,
  status: s.equalTo("enabled"),
  disabledReason: s.equalTo(null),
  failingSince: s.equalTo(null),
  createdAt: s.recentTimestamp
} as const
const secret = s.matchingPattern(/^whsec_[A-Za-z0-9+/]{43}=$/)

layer(App.layer(), { excludeTestServices: true })("Webhook endpoints", (it) => {
  it.effect("A webhook endpoint shows its secret once, at its creation and at each rotation", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const created = yield* call("POST", "", owner, subscription)
      assert.strictEqual(created.status, 201, created.text)
      assert.include(created.headers["cache-control"] ?? "", "no-store")
      s.assertShape(created.body, { ...endpoint, secret })
      const listed = yield* call("GET", "", owner)
      s.assertShape(listed.body, { endpoints: [endpoint] })
      const path = `/${String(created.body["id"])}`
      const rotated = yield* call("POST", `${path}/rotate-secret`, owner)
      s.assertShape(rotated.body, { secret, previousValidUntil: s.nonEmptyText })
      assert.notStrictEqual(rotated.body["secret"], created.body["secret"])
      s.assertShape((yield* call("POST", `${path}/enable`, owner)).body, endpoint)
      s.assertShape((yield* call("DELETE", path, owner)).body, { success: s.equalTo(true) })
      assert.deepStrictEqual((yield* call("GET", "", owner)).body, { endpoints: [] })
    })
  )

  it.effect("The delivery log of an endpoint shows its events, and a replay sends them again under their ids", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { body } = yield* call("POST", "", owner, subscription)
      const path = `/${String(body["id"])}`
      const data = { agentId: owner.agent.id, name: "A", status: "stopped", previousStatus: "active" }
      yield* (yield* DomainEvents).append({ kind: "agent.status", data }, owner.user.id)
      const log = yield* call("GET", `${path}/deliveries?limit=10`, owner)
      s.assertShape(log.body, {
        deliveries: [
          {
            id: s.matchingPattern(/^dlv_[0-9a-f]{32}$/),
            eventId: s.prefixedId("evt"),
            type: s.equalTo("agent.status"),
            status: s.equalTo("pending"),
            attempts: s.equalTo(0),
            nextAttemptAt: s.recentTimestamp,
            lastAttemptAt: s.equalTo(null),
            responseStatus: s.equalTo(null),
            failure: s.equalTo(null),
            createdAt: s.recentTimestamp
          }
        ],
        total: s.equalTo(1),
        limit: s.equalTo(10),
        offset: s.equalTo(0)
      })
      const replay = (json: unknown) => call("POST", `${path}/replay`, owner, json)
      const deliveryId = /dlv_[0-9a-f]{32}/.exec(log.text)?.[0]
      yield* sql`update webhook_deliveries set status = 'failed' where id = ${String(deliveryId)}`
      const replayed = yield* replay({ deliveryId })
      assert.deepStrictEqual([replayed.status, replayed.body], [202, { replayed: 1 }])
      yield* sql`update webhook_deliveries set status = 'failed' where id = ${String(deliveryId)}`
      assert.deepStrictEqual((yield* replay({ since: "2020-01-01T00:00:00Z" })).body, { replayed: 1 })
      assert.deepInclude(yield* replay({ deliveryId: "dlv_0" }), { status: 404 })
      assert.deepInclude((yield* replay({})).body, { code: "webhook_replay_incomplete" })
      const stranger = yield* App.signInNewUser()
      const { body: other } = yield* call("POST", "", stranger, subscription)
      assert.strictEqual((yield* call("POST", `/${String(other["id"])}/replay`, stranger, { deliveryId })).status, 404)
      assert.deepStrictEqual(
        (yield* call("POST", `/${String(other["id"])}/replay`, stranger, { since: "2020-01-01T00:00:00Z" })).body,
        { replayed: 0 }
      )
    })
  )

  it.effect("A message that is refused for lack of units is an event to the owner's endpoints, once a day", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const created = yield* call("POST", "", owner, { ...subscription, events: ["budget.reached"] })
      yield* exhaustUnits(owner)
      assert.strictEqual((yield* sendMessage(owner)).status, 402)
      assert.strictEqual((yield* sendMessage(owner)).status, 402)
      const log = yield* call("GET", `/${String(created.body["id"])}/deliveries`, owner)
      assert.deepInclude(log.body, { total: 1 })
      assert.include(log.text, "budget.reached")
    })
  )

  it.effect("A user has a limited number of webhook endpoints, also when they are created at once", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser()
      const statuses = yield* Effect.replicateEffect(
        call("POST", "", owner, subscription),
        maximumEndpointsPerUser + 2,
        {
          concurrency: 5
        }
      )
      assert.lengthOf(
        statuses.filter(({ status }) => status === 201),
        maximumEndpointsPerUser
      )
      assert.deepInclude(statuses.find(({ status }) => status !== 201)?.body, {
        code: "webhook_endpoint_limit_reached"
      })
    })
  )

  it.effect("Events of accounts reach administrators from registration, settings and deletion", () =>
    Effect.gen(function* () {
      const register = (email: string) =>
        App.web({ method: "POST", path: "/api/register", json: { email, password: "correct horse battery" } })
      yield* register(App.testAdminEmail)
      const users = yield* UserRepository
      const admin = yield* Effect.flatten(users.findByEmail(Email.make(App.testAdminEmail)))
      const administrator = yield* App.openSession(admin.user)
      const created = yield* call("POST", "", administrator, {
        ...subscription,
        events: ["user.created", "user.updated", "user.deleted"]
      })
      assert.strictEqual(created.status, 201, created.text)
      yield* register("newcomer@example.com")
      const { user } = yield* Effect.flatten(users.findByEmail(Email.make("newcomer@example.com")))
      const newcomer = yield* App.openSession(user)
      yield* App.web({ method: "POST", path: "/api/settings", as: newcomer, json: { name: "Ada" } })
      yield* App.web({ method: "POST", path: "/api/settings", as: newcomer, json: { name: "", email: "none" } })
      const log = Effect.map(call("GET", `/${String(created.body["id"])}/deliveries`, administrator), ({ text }) =>
        [...text.matchAll(/"type":"([a-z.]+)"/g)].map(([, type]) => type)
      )
      assert.deepStrictEqual(yield* log, ["user.updated", "user.created"])
      assert.deepStrictEqual(yield* sql`select data from events where user_id = ${user.id} order by position`, [
        { data: { userId: user.id, email: user.email, name: user.email, plan: "free" } },
        { data: { userId: user.id, email: user.email, name: "Ada", plan: "free", changed: ["name"] } }
      ])
      const removed = yield* App.web({ method: "DELETE", path: "/api/settings", as: newcomer, json: { confirm: true } })
      assert.strictEqual(removed.status, 200, removed.text)
    })
  )
})
