import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import { PluginFailed, type PluginResult } from "@berth/domain/gateway/plugins/PluginRun"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { digestPrincipal } from "@berth/infra/postgres/limits/PostgresIdempotencyKeys"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Array, Deferred, Duration, Effect, Fiber, Option, Redacted, Ref, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { uniqueName } from "../support/Samples.ts"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { SpeechTest } from "@berth/infra/backend/SpeechTest"
import { FakeAgentTasks } from "../fakes/FakeAgentTasks.ts"
import type { AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import * as App from "../support/TestApp.ts"
import { bearer, createApiKey } from "./ApiKeyFixtures.ts"
import { parseEvents } from "./ServerSentEvents.ts"
import {
  decodeGatewayAnswer,
  gatewayCall,
  helloRequest,
  textAnswer,
  readUsedUnits,
  withPendingAnswer
} from "./GatewayPayments.ts"
import { exhaustUnits } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"
import { Units } from "@berth/domain/shared/Money"

const limits = { gateway: { count: 100_000, window: Duration.minutes(1) } }
const long = { ...helloRequest, max_tokens: 20_000 }
const events = { accept: "text/event-stream" }
const speechModel = { model: "openai/tts-1", provider: "openai" }
const key = (name: string) => ({ "idempotency-key": name })

/** Locks the units of a user until `begin` waits for them in four connections; meanwhile other users are served. */
const whileUnitsAreLocked = <A, E, R>(as: App.SignedIn, begin: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const other = yield* App.signInNewUser("pro")
    // Those that wait for this transaction, and those that wait behind them.
    const waiting = Effect.map(
      sql`
        select from pg_locks where not granted and (transactionid = pg_current_xact_id()::xid or (relation = 'unit_days'::regclass
          and database = (select oid from pg_database where datname = current_database())))`,
      (connections) => connections.length
    )
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`select from unit_days where user_id = ${as.user.id} for update`
        const begun = yield* begin
        yield* eventually(waiting, (count) => count === 4)
        const { status, text } = yield* App.web({ method: "GET", path: "/api/settings", as: other })
        assert.strictEqual(status, 200, text)
        assert.strictEqual(yield* waiting, 4)
        return begun
      })
    )
  })

layer(App.layer({ limits }), { excludeTestServices: true })("A call that is paid by card", (it) => {
  it.effect("A call paid by card costs the flat price or the cost with margin, also above the reservation", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const tries = [
        [helloRequest, 10, 1],
        [long, 10, 1],
        [long, 4_001, 2],
        [long, 12_000, 5],
        [helloRequest, 100_000, 40]
      ] as const
      for (const [json, tokens, units] of tries) {
        const as = yield* App.signInNewUser("pro")
        const answer = yield* withBehavior({ chat: () => textAnswer("Hi", tokens) })(gatewayCall({ as, json }))
        assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(yield* readUsedUnits(as), Units(units), `${tokens} tokens`)
      }
      const as = yield* App.signInNewUser("pro")
      yield* gatewayCall({ as, json: { plugin: "tts", text: "Hello" } })
      assert.strictEqual(yield* readUsedUnits(as), 3)
      yield* gatewayCall({ as, json: { plugin: "stt", audio: "SUQzBwcH" } })
      assert.strictEqual(yield* readUsedUnits(as), 5)
      yield* gatewayCall({ as, json: { ...helloRequest, plugin: "agent" } })
      assert.strictEqual(yield* readUsedUnits(as), 10)
    })
  )

  it.effect("A call paid by card costs at most the balance", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("starter")
      yield* (yield* UnitLedger).reserve(as.user, Units(590), yield* uniqueName("before"))
      const answer = yield* withBehavior({ chat: () => textAnswer("Hi", 100_000) })(gatewayCall({ as }))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(yield* readUsedUnits(as), 600)
    })
  )

  it.effect("A call paid by card limits an answer without its own limit to the reserved cost", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("pro")
      const requests: Array<number | undefined> = []
      yield* withBehavior({
        chat: (_model, _messages, { maxTokens }) => {
          requests.push(maxTokens)
          return textAnswer("Hi")
        }
      })(Effect.all([gatewayCall({ as, json: { messages: helloRequest.messages } }), gatewayCall({ as })]))
      assert.deepStrictEqual(requests, [3_994, 100])
    })
  )

  it.effect("A call paid by card is streamed on request, in either notation", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const tries = [
        { headers: events, json: helloRequest },
        { json: { ...helloRequest, stream: true } },
        { headers: events, json: { ...helloRequest, plugin: "agent" } }
      ]
      for (const call of tries) {
        const answer = yield* gatewayCall({ as, ...call })
        assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
        const received = parseEvents(answer)
        assert.deepStrictEqual(
          received.map(({ event }) => event),
          ["delta", "delta", "done"]
        )
        s.assertShape(received[0]?.data, { text: s.nonEmptyText })
        s.assertShape(received[2]?.data, {
          plugin: s.equalTo("plugin" in call.json ? "agent" : "generate-text"),
          timestamp: s.recentTimestamp,
          payment: { method: s.equalTo("card"), receipt: s.equalTo(null) }
        })
        assert.strictEqual(answer.headers["x-plugin-id"], "plugin" in call.json ? "agent" : "generate-text")
      }
      for (const json of [
        { plugin: "tts", text: "Hello" },
        { plugin: "stt", audio: "SUQzBwcH" }
      ]) {
        const whole = yield* gatewayCall({ as, headers: events, json })
        assert.match(whole.headers["content-type"] ?? "", /^application\/json/)
      }
      assert.strictEqual(yield* readUsedUnits(as), 1 + 1 + 5 + 3 + 2)
    })
  )

  it.effect("A call paid by card costs nothing when it fails, except for the output that a stream has delivered", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("pro")
      const half = Stream.make({ type: "delta" as const, text: "Half " })
      const failures = [Stream.empty, half, Stream.concat(half, Stream.die(new Error("hunter2")))]
      for (const chat of failures)
        for (const headers of [{}, events]) {
          const answer = yield* withBehavior({ chat: () => chat })(gatewayCall({ as, headers, json: long }))
          assert.notInclude(answer.text, "hunter2")
          if (answer.status !== 500) {
            const received = parseEvents(answer)
            assert.deepStrictEqual(
              received.map(({ event }) => event),
              ["delta", "error"]
            )
            s.assertShape(received[1]?.data, {
              error: s.equalTo("internal"),
              message: s.nonEmptyText,
              code: s.equalTo("plugin_failed"),
              traceId: s.nonEmptyText
            })
          }
        }
      yield* eventually(readUsedUnits(as), (used) => used === 2, { description: "two broken streams are settled" })
    })
  )

  it.effect("A call paid by card costs the prompt and the output so far when its client leaves", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      yield* withPendingAnswer((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gatewayCall({ as, headers: events, json: long }))
          yield* model.begun
          assert.strictEqual(yield* readUsedUnits(as), 40)
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      yield* eventually(readUsedUnits(as), (used) => used === 1, { description: "the used units are settled" })

      yield* withPendingAnswer((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gatewayCall({ as, json: long }))
          yield* model.begun
          assert.strictEqual(yield* readUsedUnits(as), 41)
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      yield* eventually(readUsedUnits(as), (used) => used === 2, { description: "the prompt is settled" })

      yield* withPendingAnswer(
        (model) =>
          Effect.gen(function* () {
            const call = yield* Effect.fork(gatewayCall({ as, headers: events, json: long }))
            yield* model.begun
            yield* Fiber.interrupt(call)
            yield* model.left
          }),
        []
      )
      yield* eventually(readUsedUnits(as), (used) => used === 3, {
        description: "the prompt is settled without output"
      })
    })
  )

  it.effect("A call paid by card runs for exactly as many concurrent calls as the balance covers", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("starter")
      yield* (yield* UnitLedger).reserve(as.user, Units(500), yield* uniqueName("before"))
      const answers = yield* Effect.all(
        Array.makeBy(500, () => gatewayCall({ as })),
        { concurrency: 100 }
      )
      const statuses = answers.map(({ status }) => status)
      assert.strictEqual(statuses.filter((status) => status === 200).length, 100)
      assert.strictEqual(statuses.filter((status) => status === 402).length, 400)
      assert.strictEqual(yield* readUsedUnits(as), 600)
    })
  )

  it.effect(
    "Concurrent calls by card of one user wait for units in four connections, while calls of other users run",
    () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser("pro")
        assert.strictEqual((yield* gatewayCall({ as })).status, 200)
        const sent = yield* whileUnitsAreLocked(as, Effect.replicateEffect(Effect.forkDaemon(gatewayCall({ as })), 24))
        for (const { status, text } of yield* Effect.forEach(sent, Fiber.join)) assert.strictEqual(status, 200, text)
        assert.strictEqual(yield* readUsedUnits(as), 25)
      })
  )

  it.effect(
    "Concurrent settlements and releases of one user wait for units in four connections, while requests of other users run",
    () =>
      Effect.gen(function* () {
        const { withBehavior } = yield* ModelProvidersTest
        const failure = Stream.fail(new ProviderFailed({ provider: "openai", kind: "refused", reason: "no model" }))
        const ends = [
          { json: long, end: textAnswer("done."), status: 200, units: 24 },
          { json: helloRequest, end: failure, status: 500, units: 0 }
        ]
        for (const { end, json, status, units } of ends) {
          const as = yield* App.signInNewUser("pro")
          const go = yield* Deferred.make<void>()
          let calls = 0
          const chat = () => {
            calls += 1
            return Stream.concat(Stream.execute(Deferred.await(go)), end)
          }
          const answers = yield* Effect.gen(function* () {
            const sent = yield* Effect.replicateEffect(Effect.forkDaemon(gatewayCall({ as, json })), 24)
            yield* eventually(
              Effect.sync(() => calls),
              (count) => count === 24
            )
            yield* whileUnitsAreLocked(as, Deferred.succeed(go, undefined))
            return yield* Effect.forEach(sent, Fiber.join)
          }).pipe(withBehavior({ chat }))
          for (const answer of answers) assert.strictEqual(answer.status, status, answer.text)
          assert.strictEqual(yield* readUsedUnits(as), units)
        }
      })
  )

  it.effect("A call paid by card costs nothing by the caller's own keys, and needs no balance", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("starter")
      const keys = () => Effect.succeed({ openai: Redacted.make("sk-mine") })
      const [own, others] = ["openai/gpt-4", "anthropic/claude-opus-4-6"].map((model) => ({ ...helloRequest, model }))
      const withKeys = withBehavior({ keys })
      assert.strictEqual((yield* withKeys(gatewayCall({ as, json: own }))).status, 200)
      assert.strictEqual(yield* readUsedUnits(as), 0)
      assert.strictEqual((yield* withKeys(gatewayCall({ as, json: others }))).status, 200)
      assert.strictEqual(yield* readUsedUnits(as), 1)

      yield* (yield* UnitLedger).reserve(as.user, Units(599), yield* uniqueName("the rest"))
      for (const headers of [{}, events]) {
        assert.strictEqual((yield* withKeys(gatewayCall({ as, headers, json: own }))).status, 200)
        assert.strictEqual((yield* withKeys(gatewayCall({ as, headers, json: others }))).status, 402)
        assert.strictEqual((yield* gatewayCall({ as, headers, json: own })).status, 402)
      }
      const refusal = new ProviderFailed({ provider: "openai", kind: "unauthorized", reason: "no such key" })
      const refused = yield* withBehavior({ keys, chat: () => Stream.fail(refusal) })(gatewayCall({ as, json: own }))
      assert.deepInclude(refused.body, { error: "internal", code: "plugin_failed" })
      assert.include(refused.text, "your openai key was refused")
      assert.strictEqual(yield* readUsedUnits(as), 600)
    })
  )

  it.effect("A call by the owner's own key costs nothing and needs no units, for speech too", () =>
    Effect.gen(function* () {
      const models = yield* ModelProvidersTest
      const speech = yield* SpeechTest
      const as = yield* App.signInNewUser("starter")
      yield* exhaustUnits(as)
      const withKeys = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        effect.pipe(
          models.withBehavior({ keys: () => Effect.succeed({ openai: Redacted.make("sk-mine") }) }),
          speech.withBehavior({
            synthesize: ({ ownKeysOnly = false, text }) =>
              Effect.succeed({
                audio: new TextEncoder().encode(text),
                contentType: "audio/mpeg",
                ownKey: ownKeysOnly,
                answeredBy: speechModel
              }),
            transcribe: ({ ownKeysOnly = false }) =>
              Effect.succeed({ text: "Hello", ownKey: ownKeysOnly, answeredBy: speechModel })
          })
        )
      for (const headers of [{}, events])
        for (const json of [
          { plugin: "tts", text: "Hello" },
          { plugin: "stt", audio: "SUQzBwcH" }
        ]) {
          const own = yield* withKeys(gatewayCall({ as, headers, json }))
          assert.strictEqual(own.status, 200, own.text)
          const others = yield* withKeys(
            gatewayCall({ as, headers, json: { ...json, model: "groq/whisper-large-v3" } })
          )
          assert.strictEqual(others.status, json.plugin === "stt" ? 402 : 400, others.text)
          assert.strictEqual((yield* gatewayCall({ as, headers, json })).status, 402)
        }
      assert.strictEqual(yield* readUsedUnits(as), 600)
    })
  )

  const agentAnswer = (costUsd: number) => () =>
    Stream.make<[PluginResult]>({ type: "done", message: "Done.", tokens: null, costUsd, ownKey: false })

  it.effect("A card call of the agent costs its model calls with margin, within a turn's budget", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* FakeAgentTasks
      const json = { ...helloRequest, plugin: "agent" }
      for (const [costUsd, units] of [
        [0, 5],
        [0.01, 5],
        [0.1, 13],
        [3, 25]
      ] as const)
        for (const headers of [{}, events]) {
          const as = yield* App.signInNewUser("pro")
          const answer = yield* withBehavior({ run: agentAnswer(costUsd) })(gatewayCall({ as, json, headers }))
          assert.strictEqual(answer.status, 200, answer.text)
          assert.strictEqual(yield* readUsedUnits(as), Units(units), `${costUsd} USD`)
        }
      const poor = yield* App.signInNewUser("starter")
      yield* (yield* UnitLedger).reserve(poor.user, Units(593), yield* uniqueName("before"))
      yield* withBehavior({ run: agentAnswer(0.1) })(gatewayCall({ as: poor, json }))
      assert.strictEqual(yield* readUsedUnits(poor), 600)
    })
  )

  it.effect("A call paid by card of the agent overspends nothing when fifty tasks cost more than they reserved", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* FakeAgentTasks
      const as = yield* App.signInNewUser("starter")
      yield* (yield* UnitLedger).reserve(as.user, Units(500), yield* uniqueName("before"))
      const json = { ...helloRequest, plugin: "agent" }
      const answers = yield* withBehavior({ run: agentAnswer(0.1) })(
        Effect.all(
          Array.makeBy(50, () => gatewayCall({ as, json })),
          { concurrency: "unbounded" }
        )
      )
      const paid = answers.filter(({ status }) => status === 200).length
      assert.isAtLeast(paid, 8)
      assert.isAtMost(paid, 20)
      assert.strictEqual(answers.filter(({ status }) => status === 402).length, 50 - paid)
      const used = yield* readUsedUnits(as)
      assert.isAtMost(used, 600)
      assert.isAbove(used, 595)
    })
  )

  it.effect("A card call of the agent that fails or is left costs the model calls so far", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* FakeAgentTasks
      const json = { ...helloRequest, plugin: "agent" }
      const spending =
        (usd: number, rest: Stream.Stream<ModelDelta | PluginResult, PluginFailed>): AgentTasks["Type"]["run"] =>
        ({ funding }) =>
          Stream.concat(Stream.execute(funding === undefined ? Effect.void : Ref.set(funding.spentUsd, usd)), rest)
      const failed = Stream.fail(new PluginFailed({ reason: "it broke" }))
      const as = yield* App.signInNewUser("pro")
      for (const [usd, total] of [
        [0, 0],
        [0.02, 3],
        [0.1, 16]
      ] as const) {
        const answer = yield* withBehavior({ run: spending(usd, failed) })(gatewayCall({ as, json }))
        assert.strictEqual(answer.status, 500)
        assert.notInclude(answer.text, "cost nothing")
        assert.strictEqual(yield* readUsedUnits(as), Units(total), `${usd} USD`)
      }
      const begun = yield* Deferred.make<void>()
      const held = Stream.concat(
        Stream.make<[ModelDelta]>({ type: "delta", text: "Half " }),
        Stream.drain(Stream.fromEffect(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)))
      )
      yield* withBehavior({ run: spending(0.1, held) })(
        Effect.gen(function* () {
          const call = yield* Effect.fork(gatewayCall({ as, json, headers: events }))
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(call)
        })
      )
      yield* eventually(readUsedUnits(as), (used) => used === 29, { description: "the calls so far are settled" })
    })
  )

  it.effect("A call of the agent by the owner's own keys costs nothing and needs no units", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* FakeAgentTasks
      const as = yield* App.signInNewUser("starter")
      yield* exhaustUnits(as)
      const json = { ...helloRequest, plugin: "agent" }
      const run: AgentTasks["Type"]["run"] = ({ funding }) =>
        funding?.ownKeysOnly === true && Option.isNone(funding.reservation)
          ? Stream.make<[PluginResult]>({ type: "done", message: "Done.", tokens: null, costUsd: 0, ownKey: true })
          : Stream.fail(new PluginFailed({ reason: "only own keys may pay" }))
      for (const headers of [{}, events]) {
        const own = yield* withBehavior({ run, usesOwnKeys: () => Effect.succeed(true) })(
          gatewayCall({ as, json, headers })
        )
        assert.strictEqual(own.status, 200, own.text)
        assert.strictEqual((yield* withBehavior({ run })(gatewayCall({ as, json, headers }))).status, 402)
      }
      assert.strictEqual(yield* readUsedUnits(as), 600)
    })
  )

  it.effect("A call paid by card without balance offers other payments", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("starter")
      yield* exhaustUnits(as)
      const cardProcessor = {
        checkoutUrl: s.matchingPattern(/\/pricing$/),
        amount: s.equalTo(0.01),
        currency: s.equalTo("usd")
      }
      const general = {
        error: s.nonEmptyText,
        message: s.matchingPattern(/remaining units and the credits do not cover/),
        code: s.nonEmptyText,
        traceId: s.nonEmptyText
      }
      const either = yield* gatewayCall({ as })
      assert.match(String(either.headers["www-authenticate"]), /^Payment /)
      assert.strictEqual(either.headers["cache-control"], "no-store")
      assert.isString(either.body["challengeId"])
      s.assertShape(either.body["cardProcessor"], cardProcessor)
      const byCard = yield* gatewayCall({ as, headers: { "x-payment-method": "cardProcessor" } })
      assert.strictEqual(byCard.status, 402)
      assert.notProperty(byCard.headers, "www-authenticate")
      s.assertShape(byCard.body, { ...general, cardProcessor })
    })
  )

  it.effect("A call paid by card runs once per key, concurrently and later, streamed or not", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const headers = key("only-once")
      const answers = yield* Effect.all(
        Array.makeBy(10, () => gatewayCall({ as, headers })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1, JSON.stringify(answers[0]))
      for (const answer of answers) {
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers["x-plugin-id"], "generate-text")
      }
      const inPieces = yield* gatewayCall({ as, headers: { ...headers, ...events } })
      assert.deepStrictEqual(
        parseEvents(inPieces).map(({ event }) => event),
        ["delta", "done"]
      )
      const first = yield* Effect.map(gatewayCall({ as, headers }), decodeGatewayAnswer)
      assert.strictEqual((yield* first).message, "Good day.")
      const other = yield* gatewayCall({ as, headers, json: { ...helloRequest, max_tokens: 5 } })
      assert.deepStrictEqual([other.status, other.body["code"]], [422, "idempotency_key_reused"])
      const otherPlugin = yield* gatewayCall({ as, headers: { ...headers, "x-plugin-id": "agent" } })
      assert.strictEqual(otherPlugin.status, 422)
      assert.strictEqual(yield* readUsedUnits(as), 1)
      const stranger = yield* App.signInNewUser("pro")
      assert.notProperty((yield* gatewayCall({ as: stranger, headers })).headers, "idempotent-replayed")
    })
  )

  it.effect("A streamed call paid by card keeps its key while it runs, and its answer after that", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const headers = { ...key("streamed"), ...events }
      yield* withPendingAnswer((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gatewayCall({ as, headers }))
          yield* model.begun
          const second = yield* Effect.fork(gatewayCall({ as, headers: key("streamed") }))
          yield* model.go
          const first = yield* Fiber.join(call)
          assert.strictEqual(parseEvents(first).at(-1)?.event, "done")
          const repeated = yield* decodeGatewayAnswer(yield* Fiber.join(second))
          assert.strictEqual(repeated.message, "Half done.")
          assert.strictEqual(yield* model.calls, 1)
        })
      )
      assert.strictEqual(yield* readUsedUnits(as), 1)
    })
  )

  it.effect("A streamed call paid by card whose answer could not be stored is not charged again under its key", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const sql = yield* SqlClient
      const caller = sql.literal(`'${digestPrincipal(as.user.id)}'`)
      const answers = yield* Effect.acquireUseRelease(
        sql`
          alter table idempotency_keys
          add constraint no_answers check (principal_hash <> ${caller} or response_sealed is null)`,
        () => gatewayCall({ as, headers: { ...key("charged"), ...events } }),
        () => Effect.orDie(sql`alter table idempotency_keys drop constraint no_answers`)
      )
      assert.strictEqual(parseEvents(answers).at(-1)?.event, "done")
      yield* sql`update idempotency_keys set lease_until = now() where principal_hash = ${caller}`
      const again = yield* gatewayCall({ as, headers: key("charged") })
      assert.strictEqual((yield* decodeGatewayAnswer(again)).message, "Good day.")
      assert.notProperty(again.headers, "idempotent-replayed")
      assert.strictEqual(yield* readUsedUnits(as), 1)
    })
  )

  it.effect("A call paid by card that failed or was left leaves its key free", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const headers = { ...key("again"), ...events }
      yield* withPendingAnswer((model) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(gatewayCall({ as, headers }))
          yield* model.begun
          yield* Fiber.interrupt(call)
          yield* model.left
        })
      )
      const { withBehavior } = yield* ModelProvidersTest
      const failed = yield* withBehavior({ chat: () => Stream.empty })(gatewayCall({ as, headers }))
      assert.strictEqual(failed.status, 500)
      const answer = yield* gatewayCall({ as, headers: key("again") })
      assert.strictEqual((yield* decodeGatewayAnswer(answer)).message, "Good day.")
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Calls of the gateway", (it) => {
  it.effect("Gateway calls are limited to a hundred a minute for each payer, whatever their outcome", () =>
    Effect.gen(function* () {
      const as = yield* App.signInNewUser("pro")
      const many = (call: Partial<App.AppCall>) =>
        Effect.all(
          Array.makeBy(101, () => gatewayCall({ json: { plugin: "nobody" }, ...call })),
          { concurrency: 20 }
        )
      for (const payer of [{ as }, { from: "203.0.113.9" }]) {
        const answers = yield* many(payer)
        const counted = (wanted: number) => answers.filter(({ status }) => status === wanted).length
        assert.deepStrictEqual([counted(502), counted(429)], [100, 1])
        const refused = answers.find(({ status }) => status === 429)
        assert.isAtLeast(Number(refused?.headers["retry-after"]), 1)
        assert.strictEqual(refused?.body["limit"], "gateway")
        assert.strictEqual(refused?.headers["access-control-allow-origin"], "*")
      }
      // A user is one payer from any address; an address counts only anonymous callers.
      assert.strictEqual((yield* gatewayCall({ as, from: "203.0.113.10" })).status, 429)
      const other = yield* App.signInNewUser("pro")
      assert.strictEqual((yield* gatewayCall({ as: other, from: "203.0.113.9" })).status, 200)
    })
  )

  it.effect("Gateway calls by an invalid bearer count on the address, and are 429 above its limit", () =>
    Effect.gen(function* () {
      const unscoped = yield* createApiKey(yield* App.signInNewUser("pro"), "chat")
      for (const [headers, status, from] of [
        [bearer("wrong"), 401, "203.0.113.11"],
        [unscoped.headers, 403, "203.0.113.12"]
      ] as const) {
        const answers = yield* Effect.all(
          Array.makeBy(103, () => gatewayCall({ headers, from })),
          { concurrency: 20 }
        )
        const refused = answers.filter((answer) => answer.status === 429)
        assert.deepStrictEqual([answers.filter((answer) => answer.status === status).length, refused.length], [100, 3])
        assert.strictEqual(refused[0]?.body["limit"], "gateway")
        assert.isAtLeast(Number(refused[0]?.headers["retry-after"]), 1)
        assert.notProperty(refused[0]?.headers, "www-authenticate")
        assert.strictEqual((yield* gatewayCall({ from })).status, 429)
      }
    })
  )
})
