import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { sql } from "../support/Sql.ts"
import type { SignedIn } from "../support/TestApp.ts"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Redacted, Schema } from "effect"
import { insertAgent } from "../support/Samples.ts"
import * as App from "../support/TestApp.ts"
import { bearer, createApiKey } from "./ApiKeyFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { gatewayCall, textAnswer } from "./GatewayPayments.ts"
import { createOwnerWithAgent, exhaustUnits, type OwnerWithAgent } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"
import { ownModel, platformModel, runTurn, sendMessage } from "./TurnFixtures.ts"

const path = "/api/billing/budgets"

const bearerOf = (as: SignedIn) =>
  Effect.gen(function* () {
    return bearer(String((yield* App.web({ method: "POST", path: "/api/auth/token", as })).body["token"]))
  })

const readBudgets = (as: SignedIn) =>
  Effect.gen(function* () {
    return yield* App.web({ method: "GET", path, headers: yield* bearerOf(as) })
  })

const putBudgets = (as: SignedIn, budgets: unknown) =>
  Effect.gen(function* () {
    return yield* App.web({ method: "PUT", path, headers: yield* bearerOf(as), json: { budgets } })
  })

const setBudgets = (as: SignedIn, ...budgets: ReadonlyArray<object>) =>
  Effect.gen(function* () {
    const answer = yield* putBudgets(as, budgets)
    assert.strictEqual(answer.status, 200, answer.text)
    return answer
  })

const decodeIssues = Schema.decodeUnknownSync(
  Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String })) })
)

const countMessages = ({ user }: OwnerWithAgent) =>
  Effect.map(sql`select id from messages where user_id = ${user.id}`, (rows) => rows.length)

layer(App.shared, { excludeTestServices: true })("Budgets over HTTP", (it) => {
  it.effect("PUT /api/billing/budgets replaces the budgets, and GET returns them with their use and renewal", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      assert.deepStrictEqual((yield* readBudgets(owner)).body, { budgets: [] })
      yield* sendMessage(owner)
      const now = yield* DateTime.now
      const month = DateTime.formatIso(DateTime.add(DateTime.startOf(now, "month"), { months: 1 }))
      const day = DateTime.formatIso(DateTime.add(DateTime.startOf(now, "day"), { days: 1 }))
      const answer = yield* setBudgets(
        owner,
        { agentId: owner.agent.id, period: "day", units: 5 },
        { period: "month", units: 0 }
      )
      assert.deepStrictEqual(answer.body, {
        budgets: [
          {
            agentId: null,
            period: "month",
            units: 0,
            usedUnits: 1,
            remainingUnits: 0,
            renewsAt: month,
            action: "stop"
          },
          {
            agentId: owner.agent.id,
            period: "day",
            units: 5,
            usedUnits: 1,
            remainingUnits: 4,
            renewsAt: day,
            action: "stop"
          }
        ]
      })
      assert.deepStrictEqual((yield* readBudgets(owner)).body, answer.body)
      assert.deepStrictEqual((yield* setBudgets(owner)).body, { budgets: [] })
      assert.strictEqual((yield* sendMessage(owner)).status, 200)
    })
  )

  it.effect("PUT /api/billing/budgets names every invalid field and changes nothing", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* setBudgets(owner, { period: "day", units: 5 })
      const invalid = [
        [[{ period: "day", units: -1 }], ["budgets.0.units"]],
        [
          [
            { period: "day", units: 1.5 },
            { period: "week", units: 100_000_001 },
            { agentId: 1, period: "day" }
          ],
          ["budgets.0.units", "budgets.1.period", "budgets.1.units", "budgets.2.agentId", "budgets.2.units"]
        ],
        [[{ period: "day", units: 1, action: "warn" }], ["budgets.0.action"]],
        [
          [
            { period: "day", units: 1 },
            { agentId: null, period: "day", units: 2 },
            { period: "month", units: 2 }
          ],
          ["budgets.1"]
        ],
        [Array.from({ length: 201 }, () => ({ period: "day", units: 1 })), ["budgets"]],
        ["none", ["budgets"]],
        [undefined, ["budgets"]]
      ] as const
      for (const [budgets, fields] of invalid) {
        const answer = yield* putBudgets(owner, budgets)
        assertError(answer, { status: 400, code: "invalid_request" })
        const { issues } = decodeIssues(answer.body)
        assert.sameMembers(
          issues.map(({ path }) => path),
          [...fields],
          answer.text
        )
      }
      const another = yield* createOwnerWithAgent()
      for (const agentId of [another.agent.id, "agt_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b"]) {
        const answer = yield* putBudgets(owner, [{ agentId, period: "day", units: 1 }])
        assertError(answer, { status: 404, code: "budget_agent_not_found" })
        assert.include(String(answer.body["message"]), agentId)
      }
      s.assertShape((yield* readBudgets(owner)).body["budgets"], [
        {
          agentId: s.equalTo(null),
          period: s.equalTo("day"),
          units: s.equalTo(5),
          usedUnits: s.equalTo(0),
          remainingUnits: s.equalTo(5),
          renewsAt: s.nonEmptyText,
          action: s.equalTo("stop")
        }
      ])
    })
  )

  it.effect(
    "A budget of an agent refuses its messages by 402 with the budget and its renewal, and no other agent's",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const other = yield* insertAgent(owner.user.id)
        const another = yield* createOwnerWithAgent()
        yield* setBudgets(owner, { agentId: owner.agent.id, period: "day", units: 1 })
        assert.strictEqual((yield* sendMessage(owner)).status, 200)
        const before = yield* countMessages(owner)
        const refused = yield* sendMessage(owner)
        assertError(refused, { status: 402, code: "budget_exceeded" })
        assert.strictEqual(refused.body["error"], "payment_required")
        s.assertShape(refused.body["budget"], {
          agentId: s.equalTo(owner.agent.id),
          period: s.equalTo("day"),
          units: s.equalTo(1),
          usedUnits: s.equalTo(1),
          remainingUnits: s.equalTo(0),
          renewsAt: s.matchingPattern(/T00:00:00\.000Z$/)
        })
        assert.strictEqual(refused.body["requiredUnits"], 1)
        assert.match(
          String(refused.body["message"]),
          /^The daily budget of the agent agt_\w+, 1 unit,.* renews on \d{4}-\d\d-\d\d \(UTC\)/
        )
        assert.strictEqual(yield* countMessages(owner), before)
        assert.strictEqual((yield* sendMessage(owner, "hello", other.id)).status, 200)
        assert.strictEqual((yield* sendMessage(another)).status, 200)
        yield* setBudgets(owner, { agentId: owner.agent.id, period: "day", units: 2 })
        assert.strictEqual((yield* sendMessage(owner)).status, 200)
        assertError(yield* sendMessage(owner), { status: 402, code: "budget_exceeded" })
      })
  )

  it.effect("A budget of an agent binds the gateway's tasks that it runs, whether a call names it or not", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* setBudgets(owner, { agentId: owner.agent.id, period: "day", units: 0 })
      const messages = [{ role: "user", content: "hi" }]
      for (const named of [{ agentId: owner.agent.id }, {}])
        assertError(yield* gatewayCall({ as: owner, json: { plugin: "agent", messages, ...named } }), {
          status: 402,
          code: "budget_exceeded"
        })
    })
  )

  it.effect("A budget of the account refuses messages, gateway calls, /v1 and embeddings, with nothing charged", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* setBudgets(owner, { period: "month", units: 2 })
      const { headers } = yield* createApiKey(owner, "gateway", "chat")
      const calls = [
        sendMessage(owner),
        gatewayCall({ as: owner }),
        App.web({
          method: "POST",
          path: "/v1/chat/completions",
          headers,
          json: { model: "openai/gpt-4", messages: [{ role: "user", content: "hi" }] }
        }),
        App.web({
          method: "POST",
          path: "/v1/chat/completions",
          headers,
          json: { model: `agent/${owner.agent.id}`, messages: [{ role: "user", content: "hi" }] }
        }),
        App.web({
          method: "POST",
          path: "/v1/embeddings",
          headers,
          json: { model: "openai/text-embedding-3-small", input: "hi" }
        }),
        App.web({
          method: "POST",
          path: "/v1/audio/speech",
          headers,
          json: { model: "tts-1", voice: "alloy", input: "hi" }
        })
      ]
      const models = yield* ModelProvidersTest
      const answered = models.withBehavior({ chat: () => textAnswer("Hi") })
      assert.strictEqual((yield* answered(gatewayCall({ as: owner }))).status, 200)
      assert.strictEqual((yield* sendMessage(owner)).status, 200)
      for (const call of calls) assertError(yield* answered(call), { status: 402, code: "budget_exceeded" })
      s.assertShape((yield* readBudgets(owner)).body["budgets"], [
        {
          agentId: s.equalTo(null),
          period: s.equalTo("month"),
          units: s.equalTo(2),
          usedUnits: s.equalTo(2),
          remainingUnits: s.equalTo(0),
          renewsAt: s.nonEmptyText,
          action: s.equalTo("stop")
        }
      ])
    })
  )

  it.effect("A budget ends a turn in progress with its answer so far, as a balance that is too low does", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* setBudgets(owner, { agentId: owner.agent.id, period: "day", units: 3 })
      const { withBehavior } = yield* ModelProvidersTest
      const { answer, responses, units } = yield* runTurn(owner, () => [
        { model: platformModel },
        { model: platformModel }
      ]).pipe(withBehavior({ chat: (_model, _messages, { maxTokens = 0 }) => textAnswer("Hi", maxTokens * 15) }))
      assert.deepStrictEqual([answer.status, answer.body["reply"]], [200, "fine"])
      assert.strictEqual(units, 3)
      assert.strictEqual(responses[0]?.status, 200)
      if (responses[1] === undefined) return assert.fail()
      assertError(responses[1], { status: 402, code: "turn_budget_exhausted" })
      assert.include(String(responses[1].body["message"]), "budget")
      assertError(yield* sendMessage(owner), { status: 402, code: "budget_exceeded" })
    })
  )

  it.effect("A turn by its owner's own keys needs no room in a budget and counts nothing against it", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* sql`update agents set model = 'gpt-4' where id = ${owner.agent.id}`
      yield* setBudgets(owner, { period: "day", units: 0 })
      const { withBehavior } = yield* ModelProvidersTest
      const { answer } = yield* runTurn(owner, () => [{ model: ownModel }]).pipe(
        withBehavior({ keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) })
      )
      assert.strictEqual(answer.status, 200, answer.text)
      assert.include((yield* readBudgets(owner)).text, '"usedUnits":0')
      assertError(yield* sendMessage(owner), { status: 402, code: "budget_exceeded" })
    })
  )

  it.effect("A budget without room announces budget.reached once per period, beside the one of the balance", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const json = { url: "https://receiver.example/", events: ["budget.reached"] }
      yield* App.web({ method: "POST", path: "/api/webhooks/endpoints", as: owner, json })
      const countEvents = Effect.map(
        sql`select id from events where user_id = ${owner.user.id} and kind = 'budget.reached'`,
        (rows) => rows.length
      )
      yield* setBudgets(owner, { period: "day", units: 0 })
      assertError(yield* sendMessage(owner), { status: 402, code: "budget_exceeded" })
      assertError(yield* sendMessage(owner), { status: 402, code: "budget_exceeded" })
      assert.strictEqual(yield* countEvents, 1)
      yield* setBudgets(owner)
      yield* exhaustUnits(owner)
      assertError(yield* sendMessage(owner), { status: 402, code: "units_exhausted" })
      assert.strictEqual(yield* countEvents, 2)
    })
  )
})
