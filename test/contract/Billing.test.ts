import { migrations } from "@berth/infra/postgres/Migrations"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { CardCustomers } from "@berth/domain/billing/checkout/CardCustomers"
import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { Units } from "@berth/domain/shared/Money"
import { ModelKeyVerifier, ModelKeyRejected } from "@berth/domain/secrets/ModelKeyVerifier"
import * as StripeCardProcessor from "@berth/infra/stripe/StripeCardProcessor"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { type FakeStripe, makeFakeStripe } from "../fakes/stripe/FakeStripe.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { gatewayCall, helloRequest, textAnswer } from "./GatewayPayments.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"

class Processor extends Context.Tag("@berth/test/Processor")<Processor, FakeStripe>() {}
class Second extends Context.Tag("@berth/test/Second")<Second, Context.Tag.Service<App.TestApp>>() {}

const adapter = ({ secretKey, url }: FakeStripe) =>
  StripeCardProcessor.layer({ secretKey: Redacted.make(secretKey), apiUrl: url, timeout: 2_000, prices: { plans: {} } })

const wrongKey = "sk-wrong-hunter2"
const keyCheck = Layer.succeed(ModelKeyVerifier, {
  verify: (provider, key) => (Redacted.value(key) === wrongKey ? new ModelKeyRejected({ provider }) : Effect.void)
})

const creditPrice = "price_credits"

const Live = Layer.unwrapScoped(
  Effect.gen(function* () {
    const fake = yield* makeFakeStripe
    fake.books.addPrice({ id: creditPrice, currency: "usd", unit_amount: 900 })
    const options = {
      databaseUrl: yield* migratedDatabase,
      secretsKey: randomBytes(32),
      appUrl: "http://localhost:3000",
      overrides: Layer.merge(adapter(fake), keyCheck),
      creditPrices: new Map([[creditPrice, 10]])
    }
    const second = yield* Layer.build(Layer.fresh(App.layer(options)))
    return Layer.mergeAll(
      App.layer(options),
      Layer.succeed(Processor, fake),
      Layer.succeed(Second, Context.get(second, App.TestApp))
    )
  })
)

const tokenAt = ({ web }: Context.Tag.Service<App.TestApp>, as: App.SignedIn) =>
  Effect.gen(function* () {
    const { body } = yield* web({ method: "POST", path: "/api/auth/token", as })
    return String(body["token"])
  })

const tokenOf = (as: App.SignedIn) => Effect.flatMap(App.TestApp, (app) => tokenAt(app, as))

const buyer = Effect.gen(function* () {
  const signedIn = yield* App.signInNewUser()
  return { ...signedIn, token: yield* tokenOf(signedIn) }
})

const act = (token: string, json: unknown, headers: Readonly<Record<string, string>> = {}): App.AppCall => ({
  method: "POST",
  path: "/api/billing",
  json,
  headers: { authorization: `Bearer ${token}`, ...headers }
})

const UsedModels = Schema.Array(Schema.Struct({ model: Schema.NullOr(Schema.String), units: Schema.Number }))

const creditsOf = ({ user }: App.SignedIn) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatten((yield* UserRepository).find(user.id))
    return found.credits
  })

/** Charges of the processor for a user, in cents and pence. */
const chargesOf = ({ books }: FakeStripe, userId: string) =>
  [...books.intents.values()].flatMap(({ amount, metadata, status }) =>
    metadata["userId"] === userId && status === "succeeded" ? [amount] : []
  )
const sessionsOf = ({ books }: FakeStripe, userId: string) =>
  [...books.sessions.values()].flatMap(({ object }) => (object.client_reference_id === userId ? [object] : []))

const buyerWithCard = Effect.gen(function* () {
  const fake = yield* Processor
  const one = yield* buyer
  const needed = yield* App.web(act(one.token, { action: "buy-credits", pack: "50" }))
  const session = fake.sessionAt(String(needed.body["checkoutUrl"]))
  const customerId = session.customer ?? ""
  fake.saveCard(customerId)
  return { ...one, customerId }
})

const settleOpen = (fake: FakeStripe) => {
  const cards = adapter(fake)
  const purchases = Layer.provide(
    SavedCardCharges.Default,
    Layer.merge(Layer.provide(CardCustomers.Default, cards), cards)
  )
  return Effect.provide(
    Effect.flatMap(SavedCardCharges, (service) => service.reconcileOpenCharges),
    Layer.fresh(purchases)
  )
}

layer(Live, { excludeTestServices: true })("billing", (it) => {
  it.effect("GET /api/billing/usage sums the owner's own charges by day, agent and model", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const sql = yield* SqlClient
      const { reserve, settle } = yield* UnitLedger
      for (const [as, message] of [
        [owner, "one"],
        [owner, "two"],
        [other, "three"]
      ] as const)
        assert.strictEqual((yield* App.web({ method: "POST", path: "/api/agent", as, json: { message } })).status, 200)
      const charge = Effect.fnUntraced(function* (cause: string) {
        const id = Option.getOrThrow(yield* reserve(owner.user, Units(5), cause))
        yield* settle(id, Units(5))
        return id
      })
      yield* charge("gateway:1")
      yield* sql`
        update reservations set created_at = created_at - interval '20 days' where id = ${yield* charge("gateway:2")}`
      const { body } = yield* App.web({ method: "POST", path: "/api/auth/token", as: owner })
      const read = (query: string) =>
        App.web({
          method: "GET",
          path: `/api/billing/usage${query}`,
          headers: { authorization: `Bearer ${String(body["token"])}` }
        })
      const gateway = { agentId: null, name: null }
      const messages = { agentId: owner.agent.id, name: "agent", units: 2 }
      const { body: usage } = yield* read("")
      assert.strictEqual(usage["totalDays"], 14)
      assert.deepStrictEqual(usage["agents"], [{ ...gateway, units: 5 }, messages])
      assert.deepStrictEqual(usage["models"], [
        { model: null, units: 5 },
        { model: "sandbox/echo", units: 2 }
      ])
      s.assertShape(usage["days"], [{ day: s.nonEmptyText, units: s.equalTo(7) }])
      // Charges of earlier versions received their agent and model from the messages.
      yield* sql`update reservations set agent_id = null, model = null where user_id = ${owner.user.id} and cause like 'msg_%'`
      yield* sql.unsafe(migrations.find(({ file }) => file.endsWith("charged_models.ts"))?.sql ?? "")
      assert.deepStrictEqual((yield* read("")).body, usage)
      const path = `/api/agent/sessions/${owner.conversation}`
      assert.strictEqual((yield* App.web({ method: "DELETE", path, as: owner })).status, 204)
      const { body: afterwards } = yield* read("")
      assert.deepStrictEqual(afterwards, usage)
      const { body: longer } = yield* read("?days=1000")
      assert.strictEqual(longer["totalDays"], 90)
      assert.deepStrictEqual(longer["agents"], [{ ...gateway, units: 10 }, messages])
      // The next owner's name of the agent is hidden from the former owner.
      yield* sql`update agents set owner_id = ${other.user.id}, name = 'theirs' where id = ${owner.agent.id}`
      const { body: former } = yield* read("")
      assert.deepStrictEqual(former["agents"], [{ ...gateway, units: 7 }])
    })
  )

  it.effect(
    "GET /api/billing/usage names the models of gateway calls, streams, completions, embeddings and speech",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { withBehavior } = yield* ModelProvidersTest
        const called = withBehavior({ chat: () => textAnswer("Hi") })
        const json = { ...helloRequest, model: "gpt-4" }
        assert.strictEqual((yield* called(gatewayCall({ as: owner, json }))).status, 200)
        const streamed = gatewayCall({ as: owner, json, headers: { accept: "text/event-stream" } })
        assert.strictEqual((yield* called(streamed)).status, 200)
        const { headers } = yield* createApiKey(owner, "gateway")
        for (const [path, json] of [
          ["/v1/chat/completions", { model: "openai/gpt-4", messages: helloRequest.messages }],
          ["/v1/embeddings", { model: "openai/text-embedding-3-small", input: "hi" }],
          ["/v1/audio/speech", { model: "tts-1", voice: "alloy", input: "hi" }]
        ] as const)
          assert.strictEqual((yield* called(App.web({ method: "POST", path, headers, json }))).status, 200, path)
        const { body } = yield* App.web({ method: "POST", path: "/api/auth/token", as: owner })
        const authorization = { authorization: `Bearer ${String(body["token"])}` }
        const usage = yield* App.web({ method: "GET", path: "/api/billing/usage", headers: authorization })
        const models = Schema.decodeUnknownSync(UsedModels)(usage.body["models"])
        assert.sameDeepMembers(
          [...models],
          [
            { model: "openai/gpt-4", units: 3 },
            { model: "sandbox/speech", units: 3 },
            { model: "openai/text-embedding-3-small", units: 1 }
          ]
        )
      })
  )

  it.effect("Billing is readable with an access token only", () =>
    Effect.gen(function* () {
      const one = yield* buyer
      for (const path of ["/api/billing", "/api/billing/history", "/api/billing/usage"]) {
        assertError(yield* App.web({ method: "GET", path }), { status: 401, code: "access_token_required" })
        assertError(yield* App.web({ method: "GET", path, as: one }), { status: 401, code: "access_token_required" })
      }
      assertError(yield* App.web({ method: "POST", path: "/api/billing", as: one, json: { action: "get-usage" } }), {
        status: 401,
        code: "access_token_required"
      })
      const answer = yield* App.web({
        method: "GET",
        path: "/api/billing",
        headers: { authorization: `Bearer ${one.token}` }
      })
      const plan = {
        name: s.nonEmptyText,
        price: s.finiteNumber,
        dailyUnits: s.naturalNumber,
        features: [s.nonEmptyText]
      } as const
      s.assertShape(answer.body, {
        plans: { starter: plan, pro: plan, scale: plan },
        currentPlan: s.equalTo("free"),
        subscriptionStatus: s.equalTo("none"),
        byokEnabled: s.equalTo(false),
        usage: { dailyUnits: s.equalTo(50), used: s.equalTo(0), remaining: s.equalTo(50) }
      })
      const usage = yield* App.web(act(one.token, { action: "get-usage" }))
      s.assertShape(usage.body, { dailyUnits: s.equalTo(50), used: s.equalTo(0), remaining: s.equalTo(50) })
    })
  )

  it.effect("Billing rejects unknown requests", () =>
    Effect.gen(function* () {
      const { token } = yield* buyer
      for (const [json, code] of [
        [{}, "invalid_request"],
        [{ action: "steal" }, "invalid_request"],
        [{ action: "create-checkout" }, "invalid_request"],
        [{ action: "create-checkout", plan: "solo" }, "billing_plan_not_found"],
        [{ action: "create-checkout", plan: "enterprise" }, "billing_plan_not_found"],
        [{ action: "buy-credits" }, "invalid_request"],
        [{ action: "buy-credits", pack: "51" }, "credit_pack_not_found"],
        [{ action: "enable-byok", provider: "openai" }, "invalid_request"],
        [{ action: "enable-byok", provider: "mistral", apiKey: "k" }, "own_key_provider_unknown"],
        [{ action: "enable-byok", provider: "openai", apiKey: "" }, "api_key_invalid"],
        [{ action: "enable-byok", provider: "openai", apiKey: wrongKey }, "model_key_rejected"],
        [{ action: "portal" }, "purchase_not_found"]
      ] as const)
        assertError(yield* App.web(act(token, json)), { status: 400, code })
    })
  )

  it.effect("Billing stores an own key that its provider accepts, and deletes it", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const { token } = yield* buyer
      const isEnabled = Effect.map(
        App.web({ method: "GET", path: "/api/billing", headers: { authorization: `Bearer ${token}` } }),
        ({ body }) => body["byokEnabled"]
      )
      const enabled = yield* App.web(act(token, { action: "enable-byok", provider: "Gemini", apiKey: "key-hunter2" }))
      s.assertShape(enabled.body, { success: s.equalTo(true), message: s.nonEmptyText })
      assert.isTrue(yield* isEnabled)
      const disabled = yield* App.web(act(token, { action: "disable-byok" }))
      s.assertShape(disabled.body, { success: s.equalTo(true), message: s.nonEmptyText })
      assert.isFalse(yield* isEnabled)
      assert.notInclude((yield* logLines).join("\n"), "hunter2")
    })
  )

  it.effect("Billing sells a plan at one checkout, also for repeated requests", () =>
    Effect.gen(function* () {
      const second = yield* Second
      const fake = yield* Processor
      const one = yield* buyer
      const there = yield* tokenAt(second, one)
      const json = { action: "create-checkout", plan: "starter" }
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) =>
          index % 2 === 0 ? App.web(act(one.token, json)) : second.web(act(there, json))
        ),
        { concurrency: "unbounded" }
      )
      const urls = new Set(answers.map(({ body, status, text }) => (status === 200 ? String(body["url"]) : text)))
      assert.strictEqual(urls.size, 1, [...urls].join("\n"))
      assert.strictEqual(sessionsOf(fake, one.user.id).length, 1)
      const [url = ""] = urls
      const session = fake.sessionAt(url)
      assert.strictEqual(session.success_url, "http://localhost:3000/onboarding?checkout=done")
      assert.strictEqual(session.cancel_url, "http://localhost:3000/pricing?error=canceled")
      const { attempt, ...what } = session.metadata
      assert.deepStrictEqual(what, { kind: "plan", plan: "starter", userId: one.user.id })
      assert.match(attempt ?? "", /^req_/)
    })
  )

  it.effect("Billing changes the current plan, and sells no second one", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const checkout = (plan: string) => App.web(act(one.token, { action: "create-checkout", plan }))
      fake.completeCheckout(String((yield* checkout("starter")).body["url"]))
      const same = yield* checkout("starter")
      assert.include(String(same.body["url"]), "/p/session/")
      const changed = yield* checkout("scale")
      assert.strictEqual(changed.body["url"], "http://localhost:3000/onboarding?checkout=done", changed.text)
      const running = [...fake.books.subscriptions.values()].filter(
        ({ metadata }) => metadata["userId"] === one.user.id
      )
      assert.deepStrictEqual(
        running.map(({ items, metadata }) => [metadata["plan"], items.data[0]?.price.unit_amount]),
        [["scale", 7_900]]
      )
      // A link alone changes nothing: an attacker could have created it.
      const link = yield* App.web({ method: "GET", path: "/api/cardProcessor/checkout?plan=solo", as: one })
      assert.strictEqual(link.headers["location"], "/pricing?error=other_currency")
      const portal = yield* App.web(act(one.token, { action: "portal" }))
      assert.include(String(portal.body["url"]), "/p/session/")
    })
  )

  it.effect("POST /api/billing keeps a plan until the paid period ends when a cheaper one is chosen", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const checkout = (plan: string) => App.web(act(one.token, { action: "create-checkout", plan }))
      fake.completeCheckout(String((yield* checkout("scale")).body["url"]))
      const scheduled = yield* checkout("starter")
      assert.strictEqual(scheduled.body["url"], "http://localhost:3000/dashboard", scheduled.text)
      const [running] = [...fake.books.subscriptions.values()].filter(
        ({ metadata }) => metadata["userId"] === one.user.id
      )
      const prices = () => running?.items.data.map(({ price }) => price.unit_amount)
      assert.deepStrictEqual([running?.metadata["plan"], prices()], ["scale", [7_900]])
      fake.books.renew(running?.id ?? "", "paid")
      assert.deepStrictEqual([running?.metadata["plan"], prices()], ["starter", [1_900]])
    })
  )

  it.effect("POST /api/billing expires an older plan checkout, also of another currency, when a newer one starts", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const older = yield* App.web(act(one.token, { action: "create-checkout", plan: "starter" }))
      const link = yield* App.web({ method: "GET", path: "/api/cardProcessor/checkout?plan=solo", as: one })
      assert.throws(() => fake.completeCheckout(String(older.body["url"])))
      fake.completeCheckout(link.headers["location"] ?? "")
      const plans = [...fake.books.subscriptions.values()].flatMap(({ metadata }) =>
        metadata["userId"] === one.user.id ? [metadata["plan"]] : []
      )
      assert.deepStrictEqual(plans, ["solo"])
    })
  )

  it.effect("Billing requests a card when none is saved, and charges the saved one the next time", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const buy = App.web(act(one.token, { action: "buy-credits", pack: "200" }))
      const needed = yield* buy
      assertError(needed, { status: 402, code: "payment_required" })
      assert.strictEqual(needed.body["error"], "payment_required")
      assert.deepStrictEqual(chargesOf(fake, one.user.id), [])
      fake.completeCheckout(String(needed.body["checkoutUrl"]))
      assert.strictEqual(yield* creditsOf(one), 0)
      const purchased = yield* buy
      s.assertShape(purchased.body, { success: s.equalTo(true), credits: s.equalTo(15), price: s.equalTo(15) })
      assert.strictEqual(yield* creditsOf(one), 15)
      assert.deepStrictEqual(chargesOf(fake, one.user.id), [1_500, 1_500])
    })
  )

  it.effect("Billing charges requests with one key once, over two servers, and each request without a key", () =>
    Effect.gen(function* () {
      const second = yield* Second
      const fake = yield* Processor
      const one = yield* buyerWithCard
      const there = yield* tokenAt(second, one)
      const json = { action: "buy-credits", pack: "50" }
      fake.setResponseDelay(50)
      const clicks = (length: number, headers: Readonly<Record<string, string>>) =>
        Effect.all(
          Array.from({ length }, (_, index) =>
            index % 2 === 0 ? App.web(act(one.token, json, headers)) : second.web(act(there, json, headers))
          ),
          { concurrency: "unbounded" }
        )
      const unnamed = yield* clicks(3, {})
      assert.deepStrictEqual([...new Set(unnamed.map(({ text }) => text))], ['{"success":true,"credits":5,"price":5}'])
      assert.strictEqual((yield* App.web(act(one.token, json))).status, 200)
      assert.deepStrictEqual(chargesOf(fake, one.user.id), [500, 500, 500, 500])
      const named = yield* clicks(20, { "idempotency-key": "order-1" })
      assert.deepStrictEqual([...new Set(named.map(({ text }) => text))], ['{"success":true,"credits":5,"price":5}'])
      fake.setResponseDelay(0)
      assert.deepStrictEqual(chargesOf(fake, one.user.id), [500, 500, 500, 500, 500])
      assert.strictEqual(yield* creditsOf(one), 25)
      const reused = yield* App.web(
        act(one.token, { action: "buy-credits", pack: "500" }, { "idempotency-key": "order-1" })
      )
      assertError(reused, { status: 422, code: "idempotency_key_reused" })
    })
  )

  it.effect("Billing returns the reason of a declined card, and charges the next one", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyerWithCard
      fake.saveCard(one.customerId, { declines: "insufficient_funds" })
      const buy = App.web(act(one.token, { action: "buy-credits", pack: "50" }))
      const declined = yield* buy
      assertError(declined, { status: 402, code: "payment_required" })
      assert.strictEqual(declined.body["declineCode"], "insufficient_funds")
      assert.strictEqual(yield* creditsOf(one), 0)
      fake.saveCard(one.customerId)
      assert.strictEqual((yield* buy).status, 200)
      assert.strictEqual(yield* creditsOf(one), 5)
    })
  )

  it.effect("Billing books a payment once although its response was lost", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const [notified, unnotified, refused] = [yield* buyerWithCard, yield* buyerWithCard, yield* buyerWithCard]
      const buy = ({ token }: { readonly token: string }) =>
        App.web(act(token, { action: "buy-credits", pack: "50" }, { "idempotency-key": "unheard" }))
      fake.trouble("does it and is cut", { path: "/v1/payment_intents" })
      for (const one of [notified, unnotified])
        assertError(yield* buy(one), { status: 503, code: "card_processor_unavailable" })
      fake.trouble("fails")
      assertError(yield* buy(refused), { status: 503, code: "card_processor_unavailable" })
      fake.trouble("is cut", { path: "/v1/payment_intents" })
      assertError(yield* buy(refused), { status: 503, code: "card_processor_unavailable" })
      fake.trouble(null)
      // A repetition with the key continues the attempt at any time.
      yield* Effect.orDie(
        sql`update purchase_attempts set created_at = created_at - interval '1 hour' where state = 'open'`
      )
      assert.strictEqual((yield* buy(notified)).status, 200)
      const settle = settleOpen(fake)
      // Started long ago and retried just now: it may be charged concurrently, so it is not abandoned.
      assert.strictEqual(yield* settle, 0)
      yield* Effect.orDie(
        sql`update purchase_attempts set tried_at = tried_at - interval '1 hour' where state = 'open'`
      )
      yield* Effect.all([settle, settle, settle], { concurrency: "unbounded" })
      assert.strictEqual(yield* settle, 0)
      for (const one of [notified, unnotified]) {
        assert.strictEqual(yield* creditsOf(one), 5)
        assert.deepStrictEqual(chargesOf(fake, one.user.id), [500])
      }
      assert.strictEqual(yield* creditsOf(refused), 0)
      const { body } = yield* App.web({
        method: "GET",
        path: "/api/billing/history?limit=1",
        headers: { authorization: `Bearer ${unnotified.token}` }
      })
      s.assertShape(body, {
        entries: [
          {
            id: s.nonEmptyText,
            kind: s.equalTo("purchase"),
            description: s.nonEmptyText,
            units: s.equalTo(0),
            credits: s.equalTo(5),
            amount: s.equalTo(5),
            currency: s.equalTo("USD"),
            createdAt: s.recentTimestamp
          }
        ],
        total: s.equalTo(1),
        limit: s.equalTo(1),
        offset: s.equalTo(0)
      })
    })
  )

  it.effect("Billing keeps a pending bank debit until the processor has decided it", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const settle = settleOpen(fake)
      const [succeeds, fails] = [yield* buyerWithCard, yield* buyerWithCard]
      const buy = ({ token }: { readonly token: string }) =>
        App.web(act(token, { action: "buy-credits", pack: "50" }, { "idempotency-key": "debit" }))
      for (const one of [succeeds, fails]) {
        fake.saveCard(one.customerId, { isBankDebit: true })
        assertError(yield* buy(one), { status: 503, code: "card_processor_unavailable" })
      }
      const attempts = (one: App.SignedIn) =>
        sql`select state from purchase_attempts where user_id = ${one.user.id} and customer_id is not null`
      const passDays = sql`
        update purchase_attempts set tried_at = tried_at - interval '3 days', created_at = created_at - interval '3 days'
        where state = 'open'`
      yield* passDays
      assert.strictEqual(yield* settle, 0)
      for (const one of [succeeds, fails]) assert.deepStrictEqual(yield* attempts(one), [{ state: "open" }])
      const intentOf = (one: App.SignedIn) =>
        [...fake.books.intents.values()].find(({ metadata }) => metadata["userId"] === one.user.id)?.id ?? ""
      // The processor's key has expired, and the repetition charges nothing again.
      fake.forgetKeys()
      assertError(yield* buy(succeeds), { status: 503, code: "card_processor_unavailable" })
      fake.books.decideDebit(intentOf(succeeds), "succeeds")
      fake.books.decideDebit(intentOf(fails), "fails")
      yield* passDays
      assert.strictEqual(yield* settle, 2)
      assert.deepStrictEqual(yield* attempts(succeeds), [{ state: "paid" }])
      assert.deepStrictEqual(yield* attempts(fails), [{ state: "refused" }])
      assert.deepStrictEqual([yield* creditsOf(succeeds), yield* creditsOf(fails)], [5, 0])
      assert.deepStrictEqual([chargesOf(fake, succeeds.user.id), chargesOf(fake, fails.user.id)], [[500], []])
      fake.saveCard(fails.customerId)
      assert.strictEqual((yield* buy(fails)).status, 200)
      assert.deepStrictEqual([yield* creditsOf(fails), chargesOf(fake, fails.user.id)], [5, [500]])
    }).pipe(Effect.orDie)
  )

  it.effect("Billing creates a new customer when the processor has deleted the former one", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const customerAt = (answer: { readonly body: Readonly<Record<string, unknown>> }, name: "url" | "checkoutUrl") =>
        fake.sessionAt(String(answer.body[name])).customer ?? ""
      const checkout = App.web(act(one.token, { action: "create-checkout", plan: "pro" }))
      const first = customerAt(yield* checkout, "url")
      fake.books.deleteCustomer(first)
      yield* Effect.orDie(
        sql`update purchase_attempts set created_at = created_at - interval '1 minute' where user_id = ${one.user.id}`
      )
      const answers = yield* Effect.all([checkout, checkout, checkout], { concurrency: "unbounded" })
      const replaced = new Set(answers.map((answer) => customerAt(answer, "url")))
      assert.strictEqual(replaced.size, 1, answers.map(({ text }) => text).join("\n"))
      assert.notInclude([...replaced], first)
      // As with another account at the processor, which does not know the customer.
      const [second = ""] = replaced
      fake.books.customers.delete(second)
      assertError(yield* App.web(act(one.token, { action: "portal" })), { status: 400, code: "purchase_not_found" })
      const needed = yield* App.web(act(one.token, { action: "buy-credits", pack: "50" }))
      assertError(needed, { status: 402, code: "payment_required" })
      assert.notInclude([first, second], customerAt(needed, "checkoutUrl"))
    })
  )

  it.effect("Billing redirects links to checkouts, and back with errors", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const get = (path: string, as?: App.SignedIn) =>
        Effect.map(
          App.web({ method: "GET", path: `/api/cardProcessor/${path}`, ...(as === undefined ? {} : { as }) }),
          (answer) => {
            assert.strictEqual(answer.status, 302, answer.text)
            return answer.headers["location"] ?? ""
          }
        )
      const callback = encodeURIComponent("/api/cardProcessor/checkout?plan=solo")
      assert.strictEqual(yield* get("checkout?plan=solo"), `/login?callbackUrl=${callback}`)
      for (const path of ["checkout", "checkout?plan=starter", "checkout?plan=", "checkout?plan=a&plan=b"])
        assert.strictEqual(yield* get(path, one), "/pricing?error=unknown_plan")
      for (const path of ["credits", "credits?price=price_other"])
        assert.strictEqual(yield* get(path, one), "/pricing?error=unknown_price")
      const plan = fake.sessionAt(yield* get("checkout?plan=network", one))
      assert.strictEqual(plan.amount_total, 49_900)
      assert.strictEqual(plan.currency, "gbp")
      const credits = fake.sessionAt(yield* get(`credits?price=${creditPrice}`, one))
      assert.deepInclude(credits.metadata, { kind: "credits", credits: "10", userId: one.user.id })
      fake.trouble("fails")
      assert.strictEqual(yield* get("checkout?plan=label", one), "/pricing?error=unavailable")
      fake.trouble(null)
    })
  )

  it.effect("Billing ends the subscriptions of a deleted account by a job that names its customers", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const { body } = yield* App.web(act(one.token, { action: "create-checkout", plan: "pro" }))
      const session = fake.sessionAt(String(body["url"]))
      fake.completeCheckout(String(body["url"]))
      const sql = yield* SqlClient
      // A customer that Berth did not create, known from an event.
      const other = `cus_zz${session.customer}`
      yield* Effect.orDie(sql`insert into card_payers ${sql.insert({ id: other, userId: one.user.id, moment: "{}" })}`)
      const deleted = yield* App.web({ method: "DELETE", path: "/api/settings", as: one, json: { confirm: true } })
      assert.strictEqual(deleted.status, 200, deleted.text)
      const jobs = yield* Effect.orDie(
        sql<{ readonly payload: unknown }>`
          select payload from outbox where name = 'forget-card-customers' and payload::text like ${`%${session.customer}%`}`
      )
      assert.deepStrictEqual(
        jobs.map(({ payload }) => payload),
        [{ customerIds: [session.customer, other] }]
      )
    })
  )

  it.effect("POST /api/cardProcessor/storage-upgrade expires an older storage checkout when a newer one starts", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const start = (key: string) => {
        const headers = { "idempotency-key": key }
        const call = { method: "POST", path: "/api/cardProcessor/storage-upgrade", as: one, headers }
        return Effect.map(App.web(call), ({ body }) => String(body["url"]))
      }
      const credits = yield* App.web(act(one.token, { action: "buy-credits", pack: "50" }))
      const older = yield* start("a")
      const newer = yield* start("b")
      assert.notStrictEqual(older, newer)
      assert.throws(() => fake.completeCheckout(older))
      for (const url of [newer, String(credits.body["checkoutUrl"])]) fake.completeCheckout(url)
      const running = [...fake.books.subscriptions.values()].filter(
        ({ metadata }) => metadata["userId"] === one.user.id
      )
      assert.lengthOf(running, 1)
    })
  )

  it.effect("Billing sells storage once", () =>
    Effect.gen(function* () {
      const fake = yield* Processor
      const one = yield* buyer
      const call = { method: "POST", path: "/api/cardProcessor/storage-upgrade" }
      assertError(yield* App.web(call), { status: 401, code: "unauthorized" })
      const submit = { method: "POST", path: "/dashboard/files", headers: { accept: "text/html" } }
      assert.strictEqual((yield* App.web(submit)).headers.location, "/login?callbackUrl=%2Fdashboard%2Ffiles")
      const page = yield* App.web({ ...submit, as: one })
      const [, opened = ""] = /^0;url=(.+)$/.exec(String(page.headers["refresh"])) ?? []
      assert.strictEqual(fake.sessionAt(opened).amount_total, 3_900)
      assert.include(page.text, `href="${opened.replaceAll("&", "&amp;")}"`)
      const url = String((yield* App.web({ ...call, as: one })).body["url"])
      const session = fake.sessionAt(url)
      assert.deepStrictEqual(
        [session.amount_total, session.currency, session.success_url, session.cancel_url],
        [
          3_900,
          "gbp",
          "http://localhost:3000/dashboard/files?checkout=done",
          "http://localhost:3000/dashboard/files?error=canceled"
        ]
      )
      fake.completeCheckout(url)
      assert.include(String((yield* App.web({ ...call, as: one })).body["url"]), "/p/session/")
      fake.trouble("fails")
      assertError(yield* App.web({ ...call, as: one }), { status: 500, code: "storage_checkout_failed" })
      assert.strictEqual(
        (yield* App.web({ ...submit, as: one })).headers.location,
        "/dashboard/files?error=unavailable"
      )
      fake.trouble(null)
    })
  )
})

layer(App.layer())("billing without a card processor", (it) => {
  it.effect("Billing without a card processor reports that nothing can be purchased", () =>
    Effect.gen(function* () {
      const one = yield* buyer
      for (const json of [
        { action: "create-checkout", plan: "pro" },
        { action: "buy-credits", pack: "50" }
      ])
        assertError(yield* App.web(act(one.token, json)), { status: 503, code: "card_processor_not_configured" })
      const link = yield* App.web({ method: "GET", path: "/api/cardProcessor/checkout?plan=solo", as: one })
      assert.strictEqual(link.headers["location"], "/pricing?error=not_configured")
      assertError(yield* App.web({ method: "POST", path: "/api/cardProcessor/storage-upgrade", as: one }), {
        status: 500,
        code: "storage_checkout_failed"
      })
    })
  )

  it.effect("Billing without a card processor requires nothing of administrators", () =>
    Effect.gen(function* () {
      const { user } = yield* App.signInNewUser()
      yield* Effect.orDie(sql`update users set email = ${App.testAdminEmail} where id = ${user.id}`)
      const admin = yield* App.openSession(user)
      const link = yield* App.web({ method: "GET", path: "/api/cardProcessor/checkout?plan=solo", as: admin })
      assert.strictEqual(link.headers["location"], "/onboarding")
      const token = yield* tokenOf(admin)
      const requested = yield* App.web(act(token, { action: "create-checkout", plan: "pro" }))
      assert.strictEqual(new URL(String(requested.body["url"])).pathname, "/onboarding")
    })
  )
})
