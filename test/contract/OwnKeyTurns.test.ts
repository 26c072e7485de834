import { runtimeModelPath } from "@berth/api/runtime/RuntimeContract"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { insertAgent } from "../support/Samples.ts"
import { FakeAgentManager } from "../fakes/FakeAgentManager.ts"
import { FakeModelProviders } from "../fakes/FakeModelProviders.ts"
import * as App from "../support/TestApp.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"

/** Runs by the owner's key where he has one of OpenAI's; the other is the platform's to pay. */
const ownModel = "openai/gpt-4"
const platformModel = "anthropic/claude-opus-4-6"

interface Said {
  readonly model: string
  /** What the cell says the call is for; by default the truth. */
  readonly messageId?: string
  readonly agentId?: string
}

/** What a cell does in a turn before it answers: calls of models, by its own token. */
const runtimeCallsOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const instances = yield* InstanceRepository
    yield* instances.ensure(owner.user.id, makeSubdomain(owner.user.id))
    const token = Redacted.value(yield* instances.ensureRuntimeToken(owner.user.id))
    const { backend } = yield* App.TestApp
    return (turn: Turn, { agentId = turn.agentId, messageId = turn.messageId, model }: Said) =>
      backend({
        method: "POST",
        path: runtimeModelPath,
        headers: { authorization: `Bearer ${token}` },
        json: {
          agentId,
          messageId,
          model,
          messages: [{ role: "user", content: turn.message }],
          tools: [],
          temperature: null,
          maxTokens: null
        }
      })
  })

const done = Stream.make<[TurnEvent]>({ type: "done", reply: "fine", model: "m" })

const usedBy = ({ user }: OwnerWithAgent) =>
  Effect.flatMap(UnitLedger, ({ findUsage }) => Effect.map(findUsage(user), ({ used }) => used))

const postMessage = (owner: OwnerWithAgent, message: string, agentId: string = owner.agent.id) =>
  Effect.flatMap(App.TestApp, ({ web }) =>
    web({ method: "POST", path: "/api/agent", as: owner, json: { message, agentId } })
  )

/** Owners have a key of OpenAI's, and a cell does what is said. */
const withRuntimeAndOwnKeys = <A, E, R>(
  chat: (owner: string, turn: Turn) => Stream.Stream<TurnEvent>,
  effect: Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const manager = yield* FakeAgentManager
    const models = yield* FakeModelProviders
    return yield* effect.pipe(
      manager.withBehavior({ chat }),
      models.withBehavior({ keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) })
    )
  })

layer(App.layer(), { excludeTestServices: true })("A message", (it) => {
  const costOf = (calls: (turn: Turn) => ReadonlyArray<Said>) =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const call = yield* runtimeCallsOf(owner)
      const before = yield* usedBy(owner)
      const statuses: Array<number> = []
      const answer = yield* withRuntimeAndOwnKeys(
        (_, turn) =>
          Stream.concat(
            Stream.execute(
              Effect.forEach(calls(turn), (said) => Effect.map(call(turn, said), ({ status }) => statuses.push(status)))
            ),
            done
          ),
        postMessage(owner, "hello")
      )
      assert.deepStrictEqual([answer.status, answer.body["reply"]], [200, "fine"])
      return { cost: (yield* usedBy(owner)) - before, statuses }
    })

  it.effect("costs nothing when all its model calls go by its owner's own key, and a unit when one does not", () =>
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

  it.effect("costs a unit whatever a hostile cell says that the platform's calls are for", () =>
    Effect.gen(function* () {
      const stranger = yield* createOwnerWithAgent()
      const lies: ReadonlyArray<Omit<Said, "model">> = [
        { messageId: "msg_none" },
        { messageId: "" },
        { messageId: "' or true; --" },
        { messageId: stranger.conversation }
      ]
      for (const lie of lies) {
        const { cost } = yield* costOf(() => [{ model: ownModel }, { ...lie, model: platformModel }])
        assert.strictEqual(cost, 1, JSON.stringify(lie))
      }
      // It cannot call models in another owner's name at all.
      const foreign = yield* costOf(() => [{ model: ownModel }, { model: platformModel, agentId: stranger.agent.id }])
      assert.deepStrictEqual(foreign, { cost: 0, statuses: [200, 404] })
    })
  )

  it.effect("is not made free by another one of its agent's that was paid for", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { web } = yield* App.TestApp
      const call = yield* runtimeCallsOf(owner)
      const go = yield* Deferred.make<void>()
      const turns: Array<Turn> = []
      const before = yield* usedBy(owner)
      const chat = (_: string, turn: Turn) => {
        turns.push(turn)
        return Stream.concat(Stream.execute(Deferred.await(go)), done)
      }
      yield* withRuntimeAndOwnKeys(
        chat,
        Effect.gen(function* () {
          const sessions = yield* Effect.replicateEffect(
            Effect.map(
              web({
                method: "POST",
                path: "/api/agent",
                as: owner,
                json: { action: "create-session", agentId: owner.agent.id }
              }),
              ({ body }) => String(body["sessionId"])
            ),
            2
          )
          const talking = yield* Effect.forEach(sessions, (sessionId) =>
            Effect.forkDaemon(
              web({ method: "POST", path: "/api/agent", as: owner, json: { message: "hello", sessionId } })
            )
          )
          yield* eventually(
            Effect.sync(() => turns.length),
            (count) => count === 2
          )
          const [first, second] = turns
          if (first === undefined || second === undefined) return assert.fail()
          // All that the platform pays is said to be for the first, and the second has called by own key alone.
          yield* call(second, { model: ownModel })
          yield* call(second, { model: platformModel, messageId: first.messageId })
          yield* Deferred.succeed(go, undefined)
          for (const fiber of talking) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
        })
      )
      assert.strictEqual((yield* usedBy(owner)) - before, 2)
    })
  )

  it.effect("is free beside one of another agent that is not", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const other = yield* insertAgent(owner.user.id)
      const call = yield* runtimeCallsOf(owner)
      const both = yield* Deferred.make<void>()
      let there = 0
      const before = yield* usedBy(owner)
      const chat = (_: string, turn: Turn) =>
        Stream.concat(
          Stream.execute(
            Effect.gen(function* () {
              there += 1
              if (there === 2) yield* Deferred.succeed(both, undefined)
              yield* Deferred.await(both)
              yield* call(turn, { model: turn.agentId === other.id ? platformModel : ownModel })
            })
          ),
          done
        )
      const answers = yield* withRuntimeAndOwnKeys(
        chat,
        Effect.all([postMessage(owner, "by my key"), postMessage(owner, "by yours", other.id)], {
          concurrency: "unbounded"
        })
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200]
      )
      assert.strictEqual((yield* usedBy(owner)) - before, 1)
    })
  )
})
