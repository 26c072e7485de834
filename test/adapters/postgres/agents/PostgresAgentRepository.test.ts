import { Agent } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const Live = Layer.mergeAll(
  PostgresAgentRepository.layer,
  PostgresUserRepository.layer,
  PostgresTransaction.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const minute = (n: number) => DateTime.unsafeMake(Date.UTC(2026, 2, 1, 12, n))

layer(Live, { excludeTestServices: true })("AgentRepository", (it) => {
  it.effect("AgentRepository.find returns the stored agent, with any keys and text of the configuration", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const owner = yield* insertUser()
      const agent = new Agent({
        ...(yield* insertAgent(owner.id)),
        id: AgentId.make(`agt_${owner.id}`),
        name: "Zoë 🦊",
        model: "custom",
        customModel: "anthropic/claude",
        config: {
          channels: ["web", "platformA"],
          skills: ["web_search"],
          systemPrompt: "a 'quoted' \\ line\n",
          temperature: 0.7,
          maxTokens: 1000,
          timezone: "Europe/London",
          heartbeat: "*/5 * * * *"
        }
      })
      yield* agents.insert(agent)
      assert.deepStrictEqual(yield* agents.find(agent.id), Option.some(agent))
      yield* agents.insert(
        new Agent({
          ...agent,
          id: AgentId.make(`${agent.id}0`),
          config: { ...agent.config, systemPrompt: "a\u0000b\ud800" }
        })
      )
      const odd = Option.getOrThrow(yield* agents.find(AgentId.make(`${agent.id}0`)))
      assert.strictEqual(odd.config.systemPrompt, "a\uFFFDb\uFFFD")
    })
  )

  it.effect("setSkill keeps concurrent changes of other skills and members", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const owner = yield* insertUser()
      const agent = yield* insertAgent(owner.id, { at: minute(1) })
      const skills = Array.from({ length: 12 }, (_, n) => `skill-${n}`)
      const every = (enabled: boolean) =>
        Effect.forEach([...skills, ...skills], (id) => agents.setSkill(agent.id, id, enabled), {
          concurrency: "unbounded"
        })
      const stored = Effect.map(agents.find(agent.id), Option.getOrThrow)
      yield* every(true)
      const full = yield* stored
      assert.deepStrictEqual(full.config.skills.toSorted(), skills.toSorted())
      assert.deepStrictEqual({ ...full.config, skills: [] }, agent.config)
      assert.isTrue(DateTime.greaterThan(full.updatedAt, agent.updatedAt))
      const one = yield* agents.setSkill(agent.id, "skill-3", false)
      assert.deepStrictEqual(one, Option.some(yield* stored))
      assert.sameMembers(
        [...(yield* stored).config.skills],
        skills.filter((id) => id !== "skill-3")
      )
      yield* every(false)
      assert.deepStrictEqual((yield* stored).config, agent.config)
      yield* agents.setSkill(agent.id, "a 'quoted' \\ \u0000 skill", true)
      assert.deepStrictEqual((yield* stored).config.skills, ["a 'quoted' \\ \uFFFD skill"])
      assert.deepStrictEqual(yield* agents.setSkill(AgentId.make("agt_none"), "time", true), Option.none())
    })
  )

  it.effect("findStatuses omits missing agents", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const owner = yield* insertUser()
      const [running, stopped] = yield* Effect.all([
        insertAgent(owner.id, { status: "running" }),
        insertAgent(owner.id, { status: "stopped" })
      ])
      assert.deepStrictEqual(
        yield* agents.findStatuses([running.id, stopped.id, AgentId.make("agt_none"), AgentId.make("agt_\u0000")]),
        new Map([
          [running.id, "running"],
          [stopped.id, "stopped"]
        ] as const)
      )
      assert.deepStrictEqual(yield* agents.findStatuses([]), new Map())
    })
  )

  it.effect("listOwned returns the owner's agents only, newest first", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const [owner, other] = yield* Effect.all([insertUser(), insertUser()])
      const [first, third, second] = yield* Effect.all([
        insertAgent(owner.id, { at: minute(1) }),
        insertAgent(owner.id, { at: minute(3) }),
        insertAgent(owner.id, { at: minute(2) })
      ])
      assert.deepStrictEqual(yield* agents.listOwned(owner.id), [third, second, first])
      assert.deepStrictEqual(yield* agents.findOwned(owner.id, first.id), Option.some(first))
      assert.deepStrictEqual(yield* agents.listOwned(other.id), [])
      assert.deepStrictEqual(yield* agents.findOwned(other.id, first.id), Option.none())
      assert.deepStrictEqual(yield* agents.findOwned(owner.id, AgentId.make("agt_\u0000")), Option.none())
    })
  )

  it.effect("changeStatus changes the expected status only, once among concurrent calls", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const owner = yield* insertUser()
      const agent = yield* insertAgent(owner.id, { status: "provisioning", at: minute(1) })
      const outcomes = yield* Effect.replicateEffect(agents.changeStatus(agent.id, "provisioning", "running"), 10, {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.filter(Boolean), [true])
      const changed = Option.getOrThrow(yield* agents.find(agent.id))
      assert.strictEqual(changed.status, "running")
      assert.isTrue(DateTime.greaterThan(changed.updatedAt, agent.updatedAt))
      assert.isFalse(yield* agents.changeStatus(AgentId.make("agt_none"), "running", "error"))
    })
  )

  it.effect("lockOwner keeps a count exact until commit: three of twenty concurrent calls pass a limit of three", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const { run } = yield* Transaction
      const owner = yield* insertUser()
      yield* insertAgent(owner.id, { status: "error" })
      yield* Effect.replicateEffect(
        run(
          Effect.gen(function* () {
            yield* agents.lockOwner(owner.id)
            if ((yield* agents.countTowardsLimit(owner.id)) < 3) yield* insertAgent(owner.id)
          })
        ),
        20,
        { concurrency: "unbounded" }
      )
      assert.strictEqual(yield* agents.countTowardsLimit(owner.id), 3)
      assert.strictEqual((yield* agents.listOwned(owner.id)).length, 4)
    })
  )

  it.effect("listStalledProvisioning returns agents stuck in provisioning, oldest first", () =>
    Effect.gen(function* () {
      const agents = yield* AgentRepository
      const owner = yield* insertUser()
      const stuck = (n: number) => insertAgent(owner.id, { status: "provisioning", at: minute(n) })
      const [second, first] = yield* Effect.all([stuck(12), stuck(11)])
      yield* Effect.all([stuck(20), insertAgent(owner.id, { at: minute(11) })])
      const listed = yield* agents.listStalledProvisioning(minute(20))
      assert.deepStrictEqual(
        listed.filter(({ ownerId }) => ownerId === owner.id),
        [first, second]
      )
    })
  )

  it.effect("updateConfiguration changes the given members only, and keeps concurrent changes", () =>
    Effect.gen(function* () {
      const { find, updateConfiguration } = yield* AgentRepository
      const { id: ownerId } = yield* insertUser()
      const agent = yield* insertAgent(ownerId)
      yield* Effect.all(
        [
          updateConfiguration(agent.id, { config: { temperature: 0.5 } }),
          updateConfiguration(agent.id, { config: { systemPrompt: "Be brief. \u0000" } }),
          updateConfiguration(agent.id, { config: { channels: [], timezone: "Europe/Paris" } }),
          updateConfiguration(agent.id, { model: { model: "custom", customModel: "a/b" } })
        ],
        { concurrency: "unbounded" }
      )
      const stored = Option.getOrThrow(yield* find(agent.id))
      assert.deepInclude(stored, { name: agent.name, model: "custom", customModel: "a/b" })
      assert.deepStrictEqual(stored.config, {
        ...agent.config,
        temperature: 0.5,
        systemPrompt: "Be brief. \uFFFD",
        channels: [],
        timezone: "Europe/Paris"
      })
      yield* updateConfiguration(agent.id, {
        config: { temperature: null },
        model: { model: "gpt-4", customModel: null }
      })
      const again = Option.getOrThrow(yield* find(agent.id))
      assert.deepInclude(again, { model: "gpt-4", customModel: null })
      assert.deepStrictEqual(again.config, { ...stored.config, temperature: null })
      assert.isTrue(Option.isNone(yield* updateConfiguration(AgentId.make("agt_none"), { config: {} })))
    })
  )
})
