import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { insertAgent } from "../support/Samples.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import {
  doneEvent,
  findUsedUnits,
  makeRuntimeCalls,
  ownModel,
  platformModel,
  type RuntimeCall,
  runTurn,
  sendMessage
} from "./TurnFixtures.ts"

const withOwnKeys = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ModelProvidersTest, ({ withBehavior }) =>
    withBehavior({ keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) })(effect)
  )

const done = Stream.make(doneEvent)

layer(App.shared, { excludeTestServices: true })("The cost of a message whose owner has model keys", (it) => {
  const costOf = (calls: (turn: Turn) => ReadonlyArray<RuntimeCall>) =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { answer, responses, units } = yield* withOwnKeys(runTurn(owner, calls))
      assert.deepStrictEqual([answer.status, answer.body["reply"]], [200, "fine"])
      return { cost: units, statuses: responses.map(({ status }) => status) }
    })

  it.effect("A message costs zero when all its calls use the owner's keys, and a unit when one does not", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* costOf(() => [{ model: ownModel }, { model: ownModel }]), {
        cost: 0,
        statuses: [200, 200]
      })
      assert.strictEqual((yield* costOf(() => [{ model: platformModel }])).cost, 1)
      assert.strictEqual((yield* costOf(() => [{ model: ownModel }, { model: platformModel }])).cost, 1)
      assert.strictEqual((yield* costOf(() => [])).cost, 1)
    })
  )

  it.effect("A platform call that a hostile runtime names otherwise is rejected, and costs nothing", () =>
    Effect.gen(function* () {
      const stranger = yield* createOwnerWithAgent()
      const lies: ReadonlyArray<Omit<RuntimeCall, "model">> = [
        { messageId: "msg_none" },
        { messageId: "" },
        { messageId: "' or true; --" },
        { messageId: stranger.conversation },
        { agentId: stranger.agent.id }
      ]
      for (const lie of lies)
        assert.deepStrictEqual(
          yield* costOf(() => [{ model: ownModel }, { ...lie, model: platformModel }]),
          { cost: 0, statuses: [200, 404] },
          JSON.stringify(lie)
        )
    })
  )

  it.effect("A platform call counts against the turn that the runtime names, also of two concurrent turns", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* AgentManagerTest
      const call = yield* makeRuntimeCalls(owner)
      const go = yield* Deferred.make<void>()
      const turns: Array<Turn> = []
      const before = yield* findUsedUnits(owner)
      const chat = (_: string, turn: Turn): Stream.Stream<TurnEvent> => {
        turns.push(turn)
        return Stream.concat(Stream.execute(Deferred.await(go)), done)
      }
      const postJson = (json: Readonly<Record<string, unknown>>) =>
        App.web({ method: "POST", path: "/api/agent", as: owner, json })
      yield* Effect.gen(function* () {
        const sessions = yield* Effect.replicateEffect(
          Effect.map(postJson({ action: "create-session", agentId: owner.agent.id }), ({ body }) =>
            String(body["sessionId"])
          ),
          2
        )
        const chats = yield* Effect.forEach(sessions, (sessionId) =>
          Effect.forkDaemon(postJson({ message: "hello", sessionId }))
        )
        yield* eventually(
          Effect.sync(() => turns.length),
          (count) => count === 2
        )
        const [first, second] = turns
        if (first === undefined || second === undefined) return assert.fail()
        yield* call(second, { model: ownModel })
        // The price of both: splitting gains only the rounding.
        yield* call(second, { model: platformModel, messageId: first.messageId })
        yield* Deferred.succeed(go, undefined)
        for (const fiber of chats) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
      }).pipe(withBehavior({ chat }), withOwnKeys)
      assert.strictEqual((yield* findUsedUnits(owner)) - before, 1)
    })
  )

  it.effect("A message by the owner's keys costs zero beside a charged one of another agent", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const other = yield* insertAgent(owner.user.id)
      const { withBehavior } = yield* AgentManagerTest
      const call = yield* makeRuntimeCalls(owner)
      const both = yield* Deferred.make<void>()
      let begun = 0
      const before = yield* findUsedUnits(owner)
      const chat = (_: string, turn: Turn) =>
        Stream.concat(
          Stream.execute(
            Effect.gen(function* () {
              begun += 1
              if (begun === 2) yield* Deferred.succeed(both, undefined)
              yield* Deferred.await(both)
              yield* call(turn, { model: turn.agentId === other.id ? platformModel : ownModel })
            })
          ),
          done
        )
      const answers = yield* Effect.all([sendMessage(owner, "by my key"), sendMessage(owner, "by yours", other.id)], {
        concurrency: "unbounded"
      }).pipe(withBehavior({ chat }), withOwnKeys)
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200]
      )
      assert.strictEqual((yield* findUsedUnits(owner)) - before, 1)
    })
  )
})
