import { SqlClient } from "@effect/sql/SqlClient"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Duration, Effect, Fiber, Redacted, Stream } from "effect"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { eventually } from "../support/Eventually.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, exhaustUnits, type OwnerWithAgent } from "./OwnerFixtures.ts"
import {
  findUsedUnits,
  leaveUnits,
  makeRuntimeCalls,
  ownModel,
  platformModel,
  runTurn,
  sendMessage
} from "./TurnFixtures.ts"

/** At 3 and 15 USD per million tokens: 7,800 micros with margin per thousand prompt and 260 answer tokens. */
const answerOf = (
  promptTokens: number,
  completionTokens: number
): Stream.Stream<ModelEvent<ProviderEnding>, ProviderFailed> =>
  Stream.make<[ModelEvent<ProviderEnding>, ModelEvent<ProviderEnding>]>(
    { type: "delta", text: "Good day." },
    {
      type: "done",
      usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens },
      finishReason: "stop"
    }
  )

const broken = new ProviderFailed({ provider: "anthropic", kind: "unreachable", reason: "gone" })
const withOwnKey = { keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) }

/** A reservation is open during its turn and closed afterwards, so that no units are lost. */
const countOpenReservations = ({ user }: OwnerWithAgent) =>
  Effect.map(
    sql`select id from reservations where user_id = ${user.id} and state = 'reserved' and cause like 'msg_%'`,
    (rows) => rows.length
  )

layer(App.shared, { excludeTestServices: true })("The cost of a message", (it) => {
  it.effect("The cost of a message is the cost of its model calls with margin, rounded up, and at least one unit", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* ModelProvidersTest
      const cost = (promptTokens: number, completionTokens: number, calls: number) =>
        runTurn(owner, () => Array.from({ length: calls }, () => ({ model: platformModel }))).pipe(
          withBehavior({ chat: () => answerOf(promptTokens, completionTokens) }),
          Effect.map(({ units }) => units)
        )
      assert.strictEqual(yield* cost(10, 5, 1), 1)
      // 60,000 micros at the provider are 78,000 with margin.
      assert.strictEqual(yield* cost(10_000, 2_000, 1), 8)
      assert.strictEqual(yield* cost(10_000, 2_000, 2), 16)
      assert.strictEqual(yield* cost(0, 0, 0), 1)
      assert.strictEqual(yield* countOpenReservations(owner), 0)
      const charges = yield* sql`
        select settled_daily_units::int as units, reservations.model = reply.model as names_model
        from reservations join messages question on question.id = cause
        join messages reply on reply.session_id = question.session_id and reply.seq = question.seq + 1
        where question.user_id = ${owner.user.id} order by reservations.created_at`
      assert.deepStrictEqual(
        charges,
        [1, 8, 16, 1].map((units) => ({ units, namesModel: true }))
      )
    })
  )

  it.effect("The cost of a message is at most the turn's budget, after which the runtime's calls are refused", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* ModelProvidersTest
      const { responses, units } = yield* runTurn(owner, () => [
        { model: platformModel },
        { model: platformModel }
      ]).pipe(withBehavior({ chat: () => answerOf(100_000, 20_000) }))
      assert.strictEqual(units, 25)
      const [first, second] = responses
      assert.strictEqual(first?.status, 200)
      if (second === undefined) return assert.fail()
      assertError(second, { status: 402, code: "turn_budget_exhausted" })
      assert.include(String(second.body["message"]), "budget")
    })
  )

  it.effect("The cost of a message never exceeds the balance, which limits the last call's answer", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* leaveUnits(owner, 3)
      const limits: Array<number | undefined> = []
      const { withBehavior } = yield* ModelProvidersTest
      const { responses, units } = yield* runTurn(owner, () => [
        { model: platformModel },
        { model: platformModel }
      ]).pipe(
        withBehavior({
          chat: (_model, _messages, { maxTokens = 0 }) => {
            limits.push(maxTokens)
            return answerOf(20, maxTokens)
          }
        })
      )
      // 30,000 micros less margin, less the prompt, at 15 micros a token.
      const [limit = 0] = limits
      assert.isAtMost(limit, 30_000 / 1.3 / 15)
      assert.isAtLeast(limit, 1_500)
      assert.lengthOf(limits, 1)
      assert.strictEqual(units, 3)
      const [, second] = responses
      if (second === undefined) return assert.fail()
      assertError(second, { status: 402, code: "turn_budget_exhausted" })
      assert.include(String(second.body["message"]), "credits")
      const { findUsage } = yield* UnitLedger
      assert.strictEqual((yield* findUsage(owner.user)).remaining, 0)
      assertError(yield* sendMessage(owner), { status: 402, code: "units_exhausted" })
    })
  )

  it.effect(
    "The cost of a message is zero when the provider failed before its answer began, and the prompt and the text so far after it",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const call = yield* makeRuntimeCalls(owner)
        const manager = yield* AgentManagerTest
        const models = yield* ModelProvidersTest
        const cost = (chat: Stream.Stream<ModelEvent<ProviderEnding>, ProviderFailed>) =>
          Effect.gen(function* () {
            const before = yield* findUsedUnits(owner)
            const answer = yield* sendMessage(owner).pipe(
              manager.withBehavior({
                chat: (_, turn) =>
                  Stream.concat(
                    Stream.execute(call(turn, { model: platformModel })),
                    Stream.fail(new InstanceUnavailable({ reason: "the model failed" }))
                  )
              }),
              models.withBehavior({ chat: () => chat })
            )
            assert.strictEqual(answer.status, 500)
            return (yield* findUsedUnits(owner)) - before
          })
        assert.strictEqual(yield* cost(Stream.fail(broken)), 0)
        const begun = Stream.make<[ModelEvent<ProviderEnding>]>({ type: "delta", text: "word ".repeat(2_000) })
        assert.isAtLeast(yield* cost(Stream.concat(begun, Stream.fail(broken))), 4)
        assert.strictEqual(yield* countOpenReservations(owner), 0)
      })
  )

  for (const path of ["an instance that ends", "a restart"] as const)
    it.effect(`The cost of a message is settled when the model request was sent before ${path} in mid-answer`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const call = yield* makeRuntimeCalls(owner)
        const manager = yield* AgentManagerTest
        const models = yield* ModelProvidersTest
        const desired = path === "a restart" ? "up" : "down"
        yield* sql`update instances set desired = ${desired} where owner_id = ${owner.user.id}`
        const requested = yield* Deferred.make<void>()
        const chat = (_: string, turn: Turn) =>
          Stream.concat(
            Stream.execute(
              Effect.gen(function* () {
                const calling = yield* Effect.forkDaemon(call(turn, { model: platformModel }))
                yield* Deferred.await(requested)
                yield* Fiber.interrupt(calling)
              })
            ),
            Stream.fail(new InstanceUnavailable({ reason: "the instance ended" }))
          )
        const answer = yield* sendMessage(owner).pipe(
          manager.withBehavior({ chat }),
          models.withBehavior({
            chat: () => Stream.concat(Stream.execute(Deferred.succeed(requested, undefined)), Stream.never)
          })
        )
        assert.strictEqual(answer.status, 500)
        assert.strictEqual(yield* findUsedUnits(owner), 1)
        assert.strictEqual(yield* countOpenReservations(owner), 0)
      })
    )

  it.effect("The cost of a message has the upper bound of a call that its runtime leaves open at the end", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const call = yield* makeRuntimeCalls(owner)
      const [manager, models] = [yield* AgentManagerTest, yield* ModelProvidersTest]
      const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const opened = yield* Deferred.make<Effect.Effect<number>>()
      const chat = (_: string, turn: Turn) =>
        Effect.forkDaemon(call(turn, { model: platformModel, maxTokens: 2_000 })).pipe(
          Effect.map((fiber) => Effect.map(Effect.orDie(Fiber.join(fiber)), ({ status }) => status)),
          Effect.flatMap((status) => Deferred.succeed(opened, status)),
          Effect.zipRight(Deferred.await(begun)),
          Stream.execute,
          Stream.concat(Stream.make<[TurnEvent]>({ type: "done", reply: "fine", model: "m" }))
        )
      const late = Stream.concat(
        Stream.execute(Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go))),
        answerOf(10, 2_000)
      )
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* sendMessage(owner)).status, 200)
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Effect.flatten(Deferred.await(opened)), 200)
      }).pipe(manager.withBehavior({ chat }), models.withBehavior({ chat: () => late }))
      // 30,000 micros for the answer at the provider are 39,000 with margin.
      assert.strictEqual(yield* findUsedUnits(owner), 4)
    })
  )

  it.effect("The cost of a message has only the prompt of a call whose process ended without recording it", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const call = yield* makeRuntimeCalls(owner)
      const [manager, models] = [yield* AgentManagerTest, yield* ModelProvidersTest]
      const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const chat = (_: string, turn: Turn) =>
        Stream.concat(
          Stream.execute(
            Effect.zipRight(
              Effect.forkDaemon(call(turn, { model: platformModel, maxTokens: 2_000 })),
              Deferred.await(begun)
            )
          ),
          Stream.fail(new BackendUnavailable({ reason: "the agent backend broke off" }))
        )
      const open = Stream.execute(Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go)))
      const answer = yield* sendMessage(owner).pipe(
        manager.withBehavior({ chat }),
        models.withBehavior({ chat: () => Stream.concat(open, answerOf(10, 2_000)) })
      )
      assert.strictEqual(answer.status, 500)
      assert.strictEqual(yield* findUsedUnits(owner), 1)
      assert.strictEqual(yield* countOpenReservations(owner), 0)
      yield* Deferred.succeed(go, undefined)
    })
  )

  it.effect(
    "The cost of a message is that of its call when the database fails at the end of the call for a moment",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        yield* sql`create sequence ends_of_calls`
        yield* sql`
        create function fail_ends() returns trigger language plpgsql as $$
        begin
          -- The turn of another test can end late.
          if new.user_id = '${(yield* SqlClient).literal(owner.user.id)}' and new.open_calls < old.open_calls
            and nextval('ends_of_calls') <= 5 then
            raise exception 'the disk is full' using errcode = 'disk_full';
          end if;
          return new;
        end $$`
        yield* sql`create trigger fail_ends before update on turns for each row execute function fail_ends()`
        const { answer, responses, units } = yield* runTurn(owner, () => [
          { model: platformModel, maxTokens: 2_000 }
        ]).pipe(
          (yield* ModelProvidersTest).withBehavior({ chat: () => answerOf(10, 1_000) }),
          Effect.ensuring(Effect.orDie(sql`drop function fail_ends cascade`))
        )
        assert.deepStrictEqual(
          [answer.status, responses.map(({ text }) => text.includes('"type":"done"'))],
          [200, [true]]
        )
        // 15,030 micros are 19,539 with margin.
        assert.strictEqual(units, 2)
      })
  )

  it.effect("The cost of a message is 402 without units and credits, before anything is stored", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* exhaustUnits(owner)
      for (const answer of [yield* sendMessage(owner)]) assertError(answer, { status: 402, code: "units_exhausted" })
      assert.deepStrictEqual(yield* sql`select id from messages where user_id = ${owner.user.id}`, [])
      assert.deepStrictEqual(yield* sql`select id from turns where user_id = ${owner.user.id}`, [])
    })
  )
})

layer(App.shared, { excludeTestServices: true })("A turn by its owner's own keys", (it) => {
  it.effect("A turn by its owner's own keys needs no units, costs nothing, and uses no platform key", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* sql`update agents set model = 'gpt-4' where id = ${owner.agent.id}`
      yield* exhaustUnits(owner)
      const before = yield* findUsedUnits(owner)
      const { withBehavior } = yield* ModelProvidersTest
      const { answer, responses, units } = yield* runTurn(owner, () => [
        { model: ownModel },
        { model: platformModel }
      ]).pipe(withBehavior(withOwnKey))
      assert.deepStrictEqual([answer.status, answer.body["reply"], units], [200, "fine", 0])
      const [own, platform] = responses
      assert.strictEqual(own?.status, 200)
      if (platform === undefined) return assert.fail()
      assertError(platform, { status: 402, code: "turn_budget_exhausted" })
      assert.strictEqual(yield* findUsedUnits(owner), before)
    })
  )

  it.effect("A turn by its owner's own keys is refused without units when the keys do not run the agent's model", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* exhaustUnits(owner)
      const { withBehavior } = yield* ModelProvidersTest
      assertError(yield* withBehavior(withOwnKey)(sendMessage(owner)), { status: 402, code: "units_exhausted" })
    })
  )
})

layer(App.layer({ limits: { "runtime-model": { count: 3, window: Duration.minutes(1) } } }), {
  excludeTestServices: true
})("The model route of runtimes", (it) => {
  it.effect("The model route of runtimes serves turns in progress only, of the token's owner", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const call = yield* makeRuntimeCalls(owner)
      const foreign = yield* makeRuntimeCalls(stranger)
      const manager = yield* AgentManagerTest
      const idle = { agentId: owner.agent.id, messageId: "msg_none", message: "hello" }
      assertError(yield* call(idle, { model: platformModel }), { status: 404, code: "turn_not_in_progress" })
      const turns: Array<Turn> = []
      const chat = (_: string, turn: Turn): Stream.Stream<TurnEvent> => {
        turns.push(turn)
        return Stream.concat(
          Stream.execute(
            Effect.map(foreign(turn, { model: platformModel }), (answer) =>
              assertError(answer, { status: 404, code: "turn_not_in_progress" })
            )
          ),
          Stream.make({ type: "done", reply: "fine", model: "m" } as const)
        )
      }
      assert.strictEqual((yield* manager.withBehavior({ chat })(sendMessage(owner))).status, 200)
      const [ended] = turns
      if (ended === undefined) return assert.fail()
      assertError(yield* call(ended, { model: platformModel }), { status: 404, code: "turn_not_in_progress" })
    })
  )

  it.effect("The model route of runtimes is limited per owner", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const call = yield* makeRuntimeCalls(owner)
      const idle = { agentId: owner.agent.id, messageId: "msg_none", message: "hello" }
      for (let n = 0; n < 3; n++) assert.strictEqual((yield* call(idle, { model: platformModel })).status, 404)
      const refused = yield* call(idle, { model: platformModel })
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
      assert.match(refused.headers["retry-after"] ?? "", /^\d+$/)
    })
  )

  it.effect("The model route of runtimes stops an answer whose turn has ended", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const call = yield* makeRuntimeCalls(owner)
      const manager = yield* AgentManagerTest
      const models = yield* ModelProvidersTest
      const [begun, left] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const requested = yield* Deferred.make<Fiber.RuntimeFiber<unknown, unknown>>()
      const endless = Stream.repeatEffect(
        Effect.delay(Effect.succeed<ModelEvent<ProviderEnding>>({ type: "delta", text: "x" }), "200 millis")
      ).pipe(
        Stream.tap(() => Deferred.succeed(begun, undefined)),
        Stream.ensuring(Deferred.succeed(left, undefined))
      )
      const chat = (_: string, turn: Turn) =>
        Stream.concat(
          Stream.execute(
            Effect.flatMap(Effect.forkDaemon(call(turn, { model: platformModel })), (fiber) =>
              Effect.zipRight(Deferred.succeed(requested, fiber), Deferred.await(begun))
            )
          ),
          Stream.make<[TurnEvent]>({ type: "done", reply: "fine", model: "m" })
        )
      const started = yield* DateTime.now
      const answer = yield* Effect.zipLeft(sendMessage(owner), Deferred.await(left)).pipe(
        manager.withBehavior({ chat }),
        models.withBehavior({ chat: () => endless })
      )
      assert.strictEqual(answer.status, 200)
      assert.isBelow(DateTime.distance(started, yield* DateTime.now), 10_000)
      yield* Effect.flatMap(Deferred.await(requested), Fiber.await)
      yield* eventually(countOpenReservations(owner), (count) => count === 0)
    })
  )
})
