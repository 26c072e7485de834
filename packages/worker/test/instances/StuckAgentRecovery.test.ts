import { Agent, defaultAgentConfig } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Array, DateTime, Duration, Effect, FastCheck, Layer, Option, Ref, TestClock } from "effect"
import * as StuckAgentRecovery from "../../src/instances/StuckAgentRecovery.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

const start = DateTime.unsafeMake(0)
const at = (since: Duration.DurationInput) => DateTime.addDuration(start, since)

const agent = (id: string, createdAt: DateTime.Utc, updatedAt = createdAt) =>
  new Agent({
    id: AgentId.make(id),
    ownerId: UserId.make("usr_1"),
    name: id,
    model: "gpt-4",
    customModel: null,
    status: "provisioning",
    config: defaultAgentConfig,
    createdAt,
    updatedAt
  })

/** The ports in memory, shared by several workers. */
const makePorts = (...members: ReadonlyArray<Agent>) =>
  Effect.gen(function* () {
    const rows = yield* Ref.make(new Map(members.map((member) => [member.id, member])))
    const calls = yield* Ref.make<ReadonlyArray<string>>([])
    const failing = yield* Ref.make<ReadonlyArray<string>>([])
    const turns = yield* Effect.makeSemaphore(1)
    const put = (row: Agent) => Ref.update(rows, (all) => new Map(all).set(row.id, row))
    const record = (what: string) => Ref.update(calls, (all) => [...all, what])

    const agents = Layer.mock(AgentRepository, {
      // Yields, so that several workers find the same agent.
      listStalledProvisioning: (before) =>
        Effect.map(rows, (all) =>
          Array.fromIterable(all.values()).filter(
            ({ status, updatedAt }) => status === "provisioning" && DateTime.lessThan(updatedAt, before)
          )
        ).pipe(Effect.zipLeft(Effect.yieldNow())),
      lockOwner: () => Effect.void,
      find: (id) => Effect.map(rows, (all) => Option.fromNullable(all.get(id))),
      changeStatus: (id, from, to) =>
        Effect.gen(function* () {
          const row = (yield* rows).get(id)
          if (row?.status !== from) return false
          yield* put(new Agent({ ...row, status: to, updatedAt: yield* DateTime.now }))
          return true
        })
    })
    const manager = AgentManagerTest.layerWithBehavior({
      failDeployment: (id, reason) =>
        Effect.gen(function* () {
          if ((yield* failing).includes(id)) return yield* new BackendUnavailable({ reason: "down" })
          yield* Effect.yieldNow()
          const row = (yield* rows).get(id)
          if (row !== undefined) yield* put(new Agent({ ...row, status: "error" }))
          yield* record(`fail ${id}: ${reason}`)
        })
    })
    const outbox = Layer.mock(Outbox, {
      append: (kind, payload) => record(`${kind.name} ${JSON.stringify(payload)}`),
      relay: () => Effect.dieMessage("not relayed")
    })
    // Serialized, as by the owner's lock.
    const transaction = Layer.succeed(Transaction, { run: (effect) => turns.withPermits(1)(effect) })
    const ports = Layer.mergeAll(agents, manager, outbox, transaction)
    const worker = StuckAgentRecovery.layer.pipe(Layer.provide(ports), Layer.fresh)
    return { calls, ports, failing, worker }
  })

const retry = 'new-agent {"agentId":"agt_1"}'

describe("decideStuckAgentMeasure", () => {
  const minutes = FastCheck.integer({ min: 0, max: 30 * 60 })

  it.prop(
    "decideStuckAgentMeasure depends on age first, then on the last retry",
    [minutes, minutes],
    ([age, untouched]) => {
      FastCheck.pre(untouched <= age)
      const now = at("1 hour")
      const before = (seconds: number) => DateTime.subtractDuration(now, Duration.seconds(seconds))
      const measure = StuckAgentRecovery.decideStuckAgentMeasure(
        { createdAt: before(age), updatedAt: before(untouched) },
        now
      )
      assert.strictEqual(measure, age > 600 ? "fail" : age > 120 && untouched >= 60 ? "retry" : "wait")
    }
  )
})

describe("recoverStuckAgents", () => {
  it.scoped("recoverStuckAgents retries a stuck agent once a minute over several workers, then fails it", () =>
    Effect.gen(function* () {
      const { calls, worker } = yield* makePorts(agent("agt_1", start))
      yield* Effect.replicateEffect(Layer.build(worker), 3)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* calls, [])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* calls, [retry])
      yield* TestClock.adjust("450 seconds")
      const retries = (yield* calls).length
      assert.isAtLeast(retries, 5)
      assert.isAtMost(retries, 8)
      yield* TestClock.adjust("2 minutes")
      const after = (yield* calls).slice(retries)
      assert.isAtLeast(after.length, 1)
      for (const call of after) assert.strictEqual(call, "fail agt_1: it was not running 10 minutes after its creation")
    })
  )

  it.effect("recoverStuckAgents retries once when several workers find the same agent at the same time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(at("5 minutes")))
      const { calls, ports } = yield* makePorts(agent("agt_1", start))
      yield* Effect.replicateEffect(StuckAgentRecovery.recoverStuckAgents, 3, { concurrency: "unbounded" }).pipe(
        Effect.provide(ports)
      )
      assert.deepStrictEqual(yield* calls, [retry])
    })
  )

  it.scoped("recoverStuckAgents ignores agents that are new or were retried recently", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(at("5 minutes")))
      const { calls, worker } = yield* makePorts(
        agent("agt_1", at("4 minutes")),
        agent("agt_2", at("1 minute"), at("270 seconds"))
      )
      yield* Layer.build(worker)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* calls, [])
    })
  )

  it.scoped("recoverStuckAgents recovers the other agents when one fails, and tries again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(at("20 minutes")))
      const { calls, failing, worker } = yield* makePorts(agent("agt_1", start), agent("agt_2", start))
      yield* Ref.set(failing, ["agt_1"])
      yield* Layer.build(worker)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(
        (yield* calls).map((call) => call.slice(0, 10)),
        ["fail agt_2"]
      )
      yield* Ref.set(failing, [])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(
        (yield* calls).map((call) => call.slice(0, 10)),
        ["fail agt_2", "fail agt_1"]
      )
    })
  )
})
