import { cellModelPath } from "@berth/api/cell/CellContract"
import { Charging } from "@berth/domain/billing/Charging"
import { entitlementsOf } from "@berth/domain/billing/Plan"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { subdomainFor } from "@berth/domain/instances/Subdomain"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { eventually } from "../conformance/Eventually.ts"
import { storedAgent } from "../support/Samples.ts"
import { ScriptedAgentManager } from "../support/ScriptedAgentManager.ts"
import { ScriptedModels } from "../support/ScriptedModels.ts"
import * as App from "../support/WebApp.ts"
import { type OwnerWithAgent, ownerWithAgent } from "./Scene.ts"

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
const cellOf = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const instances = yield* InstanceRepository
    yield* instances.ensure(owner.user.id, subdomainFor(owner.user.id))
    const token = Redacted.value(yield* instances.cellToken(owner.user.id))
    const { backend } = yield* App.WebApp
    return (turn: Turn, { agentId = turn.agentId, messageId = turn.messageId, model }: Said) =>
      backend({
        method: "POST",
        path: cellModelPath,
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
  Effect.flatMap(Charging, ({ usage }) =>
    Effect.map(usage(user.id, entitlementsOf(user.plan).dailyUnits), ({ used }) => used)
  )

const say = (owner: OwnerWithAgent, message: string, agentId: string = owner.agent.id) =>
  Effect.flatMap(App.WebApp, ({ web }) =>
    web({ method: "POST", path: "/api/agent", as: owner, json: { message, agentId } })
  )

/** Owners have a key of OpenAI's, and a cell does what is said. */
const during = <A, E, R>(
  chat: (owner: string, turn: Turn) => Stream.Stream<TurnEvent>,
  effect: Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const manager = yield* ScriptedAgentManager
    const models = yield* ScriptedModels
    return yield* effect.pipe(
      manager.during({ chat }),
      models.during({ keys: () => Effect.succeed({ openai: Redacted.make("sk-own") }) })
    )
  })

layer(App.layer(), { excludeTestServices: true })("A message", (it) => {
  const costOf = (calls: (turn: Turn) => ReadonlyArray<Said>) =>
    Effect.gen(function* () {
      const owner = yield* ownerWithAgent()
      const call = yield* cellOf(owner)
      const before = yield* usedBy(owner)
      const statuses: Array<number> = []
      const answer = yield* during(
        (_, turn) =>
          Stream.concat(
            Stream.execute(
              Effect.forEach(calls(turn), (said) => Effect.map(call(turn, said), ({ status }) => statuses.push(status)))
            ),
            done
          ),
        say(owner, "hello")
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
      const stranger = yield* ownerWithAgent()
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
      const owner = yield* ownerWithAgent()
      const { web } = yield* App.WebApp
      const call = yield* cellOf(owner)
      const go = yield* Deferred.make<void>()
      const turns: Array<Turn> = []
      const before = yield* usedBy(owner)
      const chat = (_: string, turn: Turn) => {
        turns.push(turn)
        return Stream.concat(Stream.execute(Deferred.await(go)), done)
      }
      yield* during(
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
      const owner = yield* ownerWithAgent()
      const other = yield* storedAgent(owner.user.id)
      const call = yield* cellOf(owner)
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
      const answers = yield* during(
        chat,
        Effect.all([say(owner, "by my key"), say(owner, "by yours", other.id)], { concurrency: "unbounded" })
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200]
      )
      assert.strictEqual((yield* usedBy(owner)) - before, 1)
    })
  )
})
