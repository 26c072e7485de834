import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import type { Agent } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { isUp } from "@berth/domain/agents/AgentStatus"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { assert, describe, it } from "@effect/vitest"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Deferred, Effect, Either, Exit, Fiber, Option, type Redacted, type Scope, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import {
  idleAfter,
  makeConnectionTerminator,
  makeReconcilerProcess,
  type ReconcilerProcess
} from "../support/ReconcilerProcess.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { testStorage } from "../support/TestStorage.ts"
import { FakeInstanceHost } from "../fakes/FakeInstanceHost.ts"
import type { UserId } from "@berth/domain/shared/UserId"
import { sql } from "../support/Sql.ts"
import { sampleTurn } from "../support/SampleTurn.ts"

const until = <E, R>(condition: Effect.Effect<boolean, E, R>, what = "the condition") =>
  eventually(condition, (met) => met, { description: what })

const inTime = <A, E, R>(work: Effect.Effect<A, E, R>, what: string) =>
  Effect.timeoutFail(work, { duration: "30 seconds", onTimeout: () => `not ${what}` })

const owner = Effect.gen(function* () {
  const { id } = yield* insertUser()
  yield* (yield* InstanceRepository).ensure(id, makeSubdomain(id))
  return { userId: id, agent: yield* insertAgent(id, { status: "provisioning" }) }
})

const rowsOf = (userId: UserId) =>
  Effect.gen(function* () {
    const { desired, runtimeVersion, startedAt, status } = Option.getOrThrow(
      yield* (yield* InstanceRepository).find(userId)
    )
    const agents = yield* (yield* AgentRepository).listOwned(userId)
    return { desired, status, startedAt, runtimeVersion, agents: agents.map((agent) => agent.status) }
  })

/** True if an instance runs exactly when its row requires it, with exactly the agents that are up. */
const isSettled = (host: FakeInstanceHost, userId: UserId) =>
  Effect.gen(function* () {
    const { desired, status } = yield* rowsOf(userId)
    const agents = yield* (yield* AgentRepository).listOwned(userId)
    const up = agents.filter((agent) => isUp(agent.status)).map(({ id }) => id)
    const instance = host.instances.get(userId)
    if (desired === "down" || status === "error") return instance === undefined && up.length === 0
    if (desired === "asleep") return instance === undefined && up.length > 0 && isUp(status)
    return instance !== undefined && JSON.stringify(instance.agents) === JSON.stringify(up) && isUp(status)
  })

/** A test with its own database and host, concurrent since most of its time is waiting. */
const test = <E>(
  name: string,
  body: (fixture: {
    readonly host: FakeInstanceHost
    readonly database: Redacted.Redacted
    readonly open: (name: string) => Effect.Effect<ReconcilerProcess, never, Scope.Scope>
  }) => Effect.Effect<
    void,
    E,
    | Scope.Scope
    | InstanceRepository
    | AgentRepository
    | SubscriptionRepository
    | SqlClient
    | Effect.Effect.Context<typeof owner>
  >
) =>
  it.scopedLive(`InstanceReconciler ${name}`, () =>
    Effect.gen(function* () {
      const database = yield* migratedDatabase
      const host = new FakeInstanceHost()
      yield* Effect.provide(
        body({ host, database, open: (process) => makeReconcilerProcess(database, host, process) }),
        testStorage(database, { maxConnections: 4 })
      )
    })
  )

/** Backdates the last use of the instance beyond the idle time. */
const backdateUse = (userId: UserId) => sql`update instances set last_used_at = '2000-01-01' where owner_id = ${userId}`

const verbs = ["start", "stop", "restart", "update", "repair", "reconfigure"] as const
type Verb = (typeof verbs)[number]

describe.concurrent("Activation of an agent", () => {
  test("starts a stopped or failed agent and leaves its siblings stopped", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { userId } = yield* owner
      const agents = yield* AgentRepository
      yield* (yield* SubscriptionRepository).save({ userId, plan: "pro", status: "active" })
      const [stopped, failed] = [
        yield* insertAgent(userId, { status: "stopped" }),
        yield* insertAgent(userId, { status: "error" })
      ]
      assert.isTrue(yield* reconciler.activate(failed.id))
      assert.deepStrictEqual(host.instances.get(userId)?.agents, [failed.id])
      assert.isFalse(yield* reconciler.activate(failed.id))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", status: "active" })
      const activated = yield* Effect.replicateEffect(reconciler.activate(stopped.id), 4, { concurrency: "unbounded" })
      assert.strictEqual(activated.filter((isNew) => isNew).length, 1)
      assert.strictEqual(Option.getOrThrow(yield* agents.find(stopped.id)).status, "active")
    }))

  test("keeps to the plan's limit and changes nothing when the instance does not start", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      const other = yield* insertAgent(userId, { status: "stopped" })
      const refused = yield* Effect.flip(reconciler.activate(other.id))
      assert.deepInclude(refused, { _tag: "PlanLimitReached", current: 1, limit: 1 })
      yield* (yield* AgentRepository).changeStatus(agent.id, "provisioning", "stopped")
      host.startFailure = () => "it exited"
      assert.deepInclude(yield* Effect.flip(reconciler.activate(other.id)), {
        _tag: "InstanceUnavailable",
        reason: "it exited"
      })
      host.startFailure = () => undefined
      assert.deepStrictEqual((yield* rowsOf(userId)).agents, ["stopped", "stopped"])
      assert.isTrue(yield* reconciler.activate(other.id))
    }))

  test("deploys an agent in provisioning before its job does", ({ open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      assert.isTrue(yield* reconciler.activate(agent.id))
      yield* reconciler.deploy(agent.id)
      assert.deepStrictEqual((yield* rowsOf(userId)).agents, ["running"])
    }))
})

describe("An InstanceReconciler that crashes", () => {
  const doVerb = (
    { idleInstances, reconciler }: ReconcilerProcess,
    verb: Verb | "deploy" | "failDeployment" | "sleep",
    { agent, userId }: { userId: UserId; agent: Agent }
  ): Effect.Effect<void, unknown, SqlClient> =>
    verb === "deploy"
      ? reconciler.deploy(agent.id)
      : verb === "failDeployment"
        ? reconciler.failDeployment(agent.id, "it is late")
        : verb === "sleep"
          ? Effect.zipRight(Effect.orDie(backdateUse(userId)), idleInstances.scan(idleAfter))
          : Effect.asVoid(reconciler[verb](userId))

  for (const verb of ["deploy", "failDeployment", "sleep", ...verbs] as const)
    test(`reaches the desired state after a crash at any step of ${verb}`, ({ host, open }) =>
      Effect.gen(function* () {
        const before = (first: ReconcilerProcess) =>
          Effect.gen(function* () {
            const person = yield* owner
            if (verb === "deploy") return person
            if (verb === "failDeployment") {
              // It runs without its agent, which is not up.
              host.configureFailure = () => "it is late"
              yield* Effect.flip(first.reconciler.deploy(person.agent.id))
              host.configureFailure = () => undefined
              return person
            }
            yield* first.reconciler.deploy(person.agent.id)
            if (verb === "start") yield* first.reconciler.stop(person.userId)
            return person
          })
        const cutConnections = yield* makeConnectionTerminator
        let current = yield* open(`backend-${verb}-0`)
        let done = false
        for (let number = 1; !done; number++) {
          assert.isBelow(number, 40)
          host.latestVersion = String(number)
          const person = yield* before(current)
          current.crashAtStep(number)
          const doing = yield* Effect.forkDaemon(doVerb(current, verb, person))
          done = yield* inTime(
            Effect.raceFirst(Effect.as(Fiber.await(doing), true), Effect.as(current.crashed, false)),
            `done or crashed at step ${number}`
          )
          const at = current.steps.at(-1) ?? "its end"
          yield* cutConnections(`backend-${verb}-${number - 1}`)
          current = yield* inTime(open(`backend-${verb}-${number}`), `open after ${at}`)
          // A deployment is a job, which is redelivered.
          if (verb === "deploy") yield* inTime(current.reconciler.deploy(person.agent.id), `deployed after ${at}`)
          if (verb === "failDeployment")
            yield* inTime(current.reconciler.failDeployment(person.agent.id, "it is late"), `failed after ${at}`)
          yield* until(isSettled(host, person.userId), `the desired state after a crash at step ${number}: ${at}`)
          yield* inTime(current.reconciler.start(person.userId), `started after ${at}`)
          assert.isTrue(yield* isSettled(host, person.userId), `not started after a crash at step ${number}: ${at}`)
          yield* inTime(current.reconciler.stop(person.userId), `stopped after ${at}`)
          assert.isTrue(yield* isSettled(host, person.userId), `not stopped after a crash at step ${number}: ${at}`)
          if (done) assert.isAtLeast(number, 4)
        }
      }))
})

describe.concurrent("InstanceReconciler", () => {
  test("keeps a stop that commits before a waiting deployment", ({ host, open }) =>
    Effect.gen(function* () {
      const process = yield* open("backend")
      const { agent, userId } = yield* owner
      const release = yield* holdLock(userId)
      const stopping = yield* Effect.fork(process.reconciler.stop(userId))
      yield* lockRequests(process, 1)
      const deploying = yield* Effect.fork(process.reconciler.deploy(agent.id))
      yield* lockRequests(process, 2)
      yield* release
      yield* Fiber.join(stopping)
      yield* Fiber.join(deploying)
      assert.deepInclude(yield* rowsOf(userId), { desired: "down", status: "stopped", agents: ["stopped"] })
      assert.isFalse(host.instances.has(userId))
    }))

  test("keeps a deployment that succeeds before it is failed, and does not start a failed one", ({ host, open }) =>
    Effect.gen(function* () {
      const process = yield* open("backend")
      const { reconciler } = process
      const [slow, late] = [yield* owner, yield* owner]
      const release = yield* holdLock(slow.userId)
      const deploying = yield* Effect.fork(reconciler.deploy(slow.agent.id))
      yield* lockRequests(process, 1)
      const givingUp = yield* Effect.fork(reconciler.failDeployment(slow.agent.id, "late"))
      yield* lockRequests(process, 2)
      yield* release
      yield* Fiber.join(deploying)
      yield* Fiber.join(givingUp)
      assert.deepInclude(yield* rowsOf(slow.userId), { desired: "up", status: "running", agents: ["running"] })
      yield* reconciler.failDeployment(slow.agent.id, "later still")
      assert.deepStrictEqual((yield* rowsOf(slow.userId)).agents, ["running"])

      yield* reconciler.failDeployment(late.agent.id, "too late")
      yield* reconciler.deploy(late.agent.id)
      assert.deepInclude(yield* rowsOf(late.userId), { desired: "down", status: "error", agents: ["error"] })
      assert.isFalse(host.instances.has(late.userId))
    }))

  test("leaves no instance of a failed deployment", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      host.configureFailure = () => "it does not understand"
      assert.isTrue(Either.isLeft(yield* Effect.either(reconciler.deploy(agent.id))))
      assert.isTrue(host.instances.has(userId))
      yield* reconciler.failDeployment(agent.id, "it does not understand")
      assert.isFalse(host.instances.has(userId))
      assert.isTrue(yield* isSettled(host, userId))
    }))

  for (const verb of ["restart", "update", "repair"] as const)
    for (const how of ["start", "take its agents"] as const)
      test(`restores a running instance after a failed ${verb}, whose new instance does not ${how}`, ({ host, open }) =>
        Effect.gen(function* () {
          const { reconciler } = yield* open("backend")
          const { agent, userId } = yield* owner
          yield* reconciler.deploy(agent.id)
          host.latestVersion = "2"
          let broken = true
          const fails = (_: UserId, version: string) =>
            broken && (version === "2" || verb === "restart") ? "it is broken" : undefined
          if (how === "start") host.startFailure = fails
          else host.configureFailure = fails
          const before = yield* rowsOf(userId)
          const outcome = yield* Effect.either(Effect.asVoid(reconciler[verb](userId)))
          assert.strictEqual(Either.isLeft(outcome) ? outcome.left._tag : "it succeeded", "InstanceUnavailable")
          const after = yield* rowsOf(userId)
          assert.deepInclude(after, { desired: before.desired, status: before.status, agents: before.agents })
          if (verb === "restart") assert.isNull(after.startedAt)
          else {
            // Restored before the caller receives the failure.
            assert.isTrue(yield* isSettled(host, userId))
            assert.strictEqual(after.runtimeVersion, "1")
            assert.isNotNull(after.startedAt)
          }
          broken = false
          yield* until(isSettled(host, userId))
          assert.strictEqual(host.instances.get(userId)?.version, "1")
          yield* until(Effect.map(rowsOf(userId), ({ startedAt }) => startedAt !== null))
        }))

  for (const verb of ["start", "update", "repair"] as const)
    test(`leaves a stopped instance stopped after a failed ${verb}`, ({ host, open }) =>
      Effect.gen(function* () {
        const { reconciler } = yield* open("backend")
        const { agent, userId } = yield* owner
        yield* reconciler.deploy(agent.id)
        yield* reconciler.stop(userId)
        host.configureFailure = () => "it is broken"
        assert.isTrue(Either.isLeft(yield* Effect.either(reconciler[verb](userId))))
        assert.isFalse(host.instances.has(userId))
        assert.deepInclude(yield* rowsOf(userId), { desired: "down", status: "stopped", agents: ["stopped"] })
      }))

  test("updates an instance to the newest version, and keeps the version at a restart", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      host.latestVersion = "2"
      assert.strictEqual((yield* reconciler.restart(userId)).runtimeVersion, "1")
      yield* reconciler.update(userId)
      assert.deepInclude(yield* rowsOf(userId), { runtimeVersion: "2", status: "running", agents: ["running"] })
    }))

  const turn = (agent: Agent, message: string) => ({ ...sampleTurn, agentId: agent.id, message })

  test("sends a turn that never reached an instance to the next one, and never sends a turn twice that may have arrived", ({
    host,
    open
  }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      const ask = (message: string) =>
        Effect.either(Stream.runCollect(streamFromOpened(reconciler.chat(userId, turn(agent, message)))))
      const receivedTurns = (message: string) => host.receivedMessages.filter((one) => one.message === message)
      assert.isTrue(Either.isRight(yield* ask("first")))

      host.undetectedCrashes.add(userId)
      assert.isTrue(Either.isRight(yield* ask("second")))
      assert.deepStrictEqual(
        receivedTurns("second").map(({ startedAt }) => startedAt),
        [2]
      )
      assert.isTrue(yield* isSettled(host, userId))

      host.breaksConnections = true
      const broken = yield* ask("third")
      assert.strictEqual(Either.isLeft(broken) ? broken.left._tag : "it succeeded", "InstanceUnavailable")
      assert.strictEqual(receivedTurns("third").length, 1)

      // The turn is resent exactly once.
      host.breaksConnections = false
      host.startFailure = () => "it is broken"
      host.undetectedCrashes.add(userId)
      const dead = yield* ask("fourth")
      assert.strictEqual(Either.isLeft(dead) ? dead.left._tag : "it succeeded", "InstanceUnavailable")
      assert.strictEqual(receivedTurns("fourth").length, 0)
    }))

  test("stops an idle instance, whose agents stay up, and starts it with the next turn", ({ host, open }) =>
    Effect.gen(function* () {
      const { idleInstances, reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* idleInstances.scan(idleAfter)
      assert.deepInclude(yield* rowsOf(userId), { desired: "up" })
      for (let cycle = 0; cycle < 5; cycle++) {
        yield* backdateUse(userId)
        yield* idleInstances.scan(idleAfter)
        assert.deepInclude(yield* rowsOf(userId), { desired: "asleep", status: "running", startedAt: null })
        assert.isTrue(yield* isSettled(host, userId))
        assert.strictEqual(
          (yield* Stream.runCollect(streamFromOpened(reconciler.chat(userId, turn(agent, "wake"))))).length,
          1
        )
        assert.deepInclude(yield* rowsOf(userId), { desired: "up", status: "running", agents: ["running"] })
        assert.isTrue(yield* isSettled(host, userId))
      }
    }))

  test("lists the running instances once at start, and stops only those that run against their rows", ({
    host,
    open
  }) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const deployed = yield* Effect.scoped(
        Effect.gen(function* () {
          const { reconciler } = yield* open("one")
          const all = yield* Effect.replicateEffect(owner, 12)
          for (const { agent } of all) yield* reconciler.deploy(agent.id)
          return all
        })
      )
      const ids = deployed.map(({ userId }) => userId)
      const [up, leftAsleep, leftDown, cutOff, ...sleepers] = ids
      assert.isDefined(cutOff)
      yield* sql`update instances set desired = 'asleep' where ${sql.in("owner_id", [leftAsleep, ...sleepers])}`
      yield* sql`update instances set desired = 'down' where ${sql.in("owner_id", [leftDown, cutOff])}`
      for (const userId of [cutOff, ...sleepers]) host.instances.delete(userId)
      host.listings = 0

      const { steps } = yield* open("two")
      for (const userId of ids) yield* until(isSettled(host, userId), "the instance is as its row wants it")
      assert.deepStrictEqual([...host.instances.keys()], [up])
      assert.strictEqual(host.listings, 1)
      assert.strictEqual(steps.filter((step) => step === "an instance is to be ended").length, 3)
      assert.strictEqual(steps.filter((step) => step === "the owner's lock is requested").length, 4)
    }))

  test("keeps an instance up during a turn, however long", ({ host, open }) =>
    Effect.gen(function* () {
      const { idleInstances, reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* Effect.scoped(
        Effect.gen(function* () {
          assert.isTrue(yield* idleInstances.use(userId))
          yield* backdateUse(userId)
          yield* idleInstances.scan(idleAfter)
          assert.deepInclude(yield* rowsOf(userId), { desired: "up" })
          assert.isTrue(yield* isSettled(host, userId))
        })
      )
    }))

  test("keeps an instance up during a turn that is sent once more after a revival", ({ host, open }) =>
    Effect.gen(function* () {
      const { idleInstances, reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      host.undetectedCrashes.add(userId)
      const scanned = Effect.zipRight(Effect.orDie(backdateUse(userId)), idleInstances.scan(idleAfter))
      const events = streamFromOpened(reconciler.chat(userId, turn(agent, "again"))).pipe(Stream.tap(() => scanned))
      assert.strictEqual((yield* Stream.runCollect(events)).length, 1)
      assert.deepInclude(yield* rowsOf(userId), { desired: "up" })
      assert.isTrue(yield* isSettled(host, userId))
    }))

  test("lets an instance sleep after a turn whose use was not recorded", ({ open }) =>
    Effect.gen(function* () {
      const { idleInstances, reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* sql`alter table instances rename column last_used_at to away`
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.scoped(idleInstances.use(userId)))))
      yield* sql`alter table instances rename column away to last_used_at`
      yield* backdateUse(userId)
      yield* idleInstances.scan(idleAfter)
      assert.deepInclude(yield* rowsOf(userId), { desired: "asleep" })
    }))

  test("answers a turn that arrives while its instance is being stopped for idleness", ({ host, open }) =>
    Effect.gen(function* () {
      const { agent, userId } = yield* owner
      yield* (yield* open("backend")).reconciler.deploy(agent.id)
      for (let step = 1; step <= 5; step++) {
        // Each process records recent uses in memory.
        const process = yield* open(`backend-${step}`)
        yield* backdateUse(userId)
        const { reached, resume } = yield* process.pauseAtStep(step)
        const scan = yield* Effect.fork(process.idleInstances.scan(idleAfter))
        yield* reached
        const answer = yield* Effect.fork(
          Stream.runCollect(streamFromOpened(process.reconciler.chat(userId, turn(agent, `${step}`))))
        )
        yield* resume
        yield* Fiber.join(scan)
        assert.strictEqual((yield* Fiber.join(answer)).length, 1)
        assert.isTrue(yield* isSettled(host, userId), `after step ${step}`)
        assert.strictEqual(host.receivedMessages.filter(({ message }) => message === `${step}`).length, 1)
      }
    }))

  test("waits for a host that is down without counting crashes, and starts the instance when it is back", ({
    host,
    open
  }) =>
    Effect.gen(function* () {
      const { agent, userId } = yield* owner
      const { reconciler } = yield* open("one")
      yield* reconciler.deploy(agent.id)
      host.isDown = true
      for (let tries = 0; tries < 8; tries++) {
        const failure = yield* Effect.flip(reconciler.restart(userId))
        assert.deepInclude(failure, { _tag: "InstanceHostUnavailable", reason: "the host is down" })
      }
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", status: "running" })
      host.isDown = false
      yield* until(isSettled(host, userId), "the instance is up")
    }))

  test("reports nothing as stopped while the host is down, and stops it when the host is back", ({ host, open }) =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { idleInstances, reconciler } = yield* open("one")
      const [stopped, idle, suspended, failed] = yield* Effect.all([owner, owner, owner, owner])
      const all = [stopped, idle, suspended, failed]
      for (const { agent } of [stopped, idle, suspended]) yield* reconciler.deploy(agent.id)
      host.configureFailure = () => "it does not understand"
      yield* Effect.flip(reconciler.deploy(failed.agent.id))
      yield* users.setSuspendedAt(suspended.userId, yield* DateTime.now)
      yield* backdateUse(idle.userId)

      host.isDown = true
      yield* idleInstances.scan(idleAfter)
      const stops: ReadonlyArray<Effect.Effect<void, { readonly _tag: string }>> = [
        reconciler.stop(stopped.userId),
        reconciler.reconfigure(suspended.userId),
        reconciler.failDeployment(failed.agent.id, "it does not understand")
      ]
      for (const stop of stops) assert.strictEqual((yield* Effect.flip(stop))._tag, "InstanceHostUnavailable")
      assert.deepStrictEqual(
        yield* Effect.forEach(all, ({ userId }) =>
          Effect.map(rowsOf(userId), ({ desired, status }) => ({ desired, status, runs: host.instances.has(userId) }))
        ),
        [
          { desired: "down", status: "running", runs: true },
          { desired: "asleep", status: "running", runs: true },
          { desired: "asleep", status: "running", runs: true },
          { desired: "down", status: "provisioning", runs: true }
        ]
      )
      host.isDown = false
      for (const { userId } of all) yield* until(isSettled(host, userId), "the instance is stopped")
      assert.deepInclude(yield* rowsOf(stopped.userId), { status: "stopped", agents: ["stopped"] })
      assert.deepInclude(yield* rowsOf(failed.userId), { status: "error", agents: ["error"] })
    }))

  test("abandons an instance that crashes repeatedly, until its owner starts it", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      host.startFailure = () => "it is broken"
      for (let crashes = 0; crashes < 6; crashes++) yield* host.crash(userId)
      yield* until(Effect.map(rowsOf(userId), ({ status }) => status === "error"))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", startedAt: null, agents: ["error"] })
      assert.isTrue(yield* isSettled(host, userId))
      host.startFailure = () => undefined
      yield* reconciler.start(userId)
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", status: "active", agents: ["active"] })
      assert.isTrue(yield* isSettled(host, userId))
    }))

  for (const [verb, status] of [
    ["start", "active"],
    ["stop", "stopped"]
  ] as const)
    test(`keeps a ${verb} that commits before a waiting abandonment`, ({ host, open }) =>
      Effect.gen(function* () {
        const process = yield* open("backend")
        const { agent, userId } = yield* owner
        yield* process.reconciler.deploy(agent.id)
        const release = yield* holdLock(userId)
        process.crashAtStep(Number.POSITIVE_INFINITY)
        const doing = yield* Effect.fork(process.reconciler[verb](userId))
        yield* lockRequests(process, 1)
        for (let crashes = 0; crashes < 6; crashes++) yield* host.crash(userId)
        yield* lockRequests(process, 2)
        yield* release
        yield* Fiber.join(doing)
        // Queued after the abandonment.
        yield* process.reconciler.reconfigure(userId)
        yield* until(isSettled(host, userId))
        assert.deepInclude(yield* rowsOf(userId), { status, agents: [status] })
      }))

  test("stops the instance of a suspended account, and starts it with the first turn after", ({ host, open }) =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* users.setSuspendedAt(userId, yield* DateTime.now)
      yield* reconciler.reconfigure(userId)
      assert.deepInclude(yield* rowsOf(userId), { desired: "asleep", startedAt: null, agents: ["running"] })
      assert.isTrue(yield* isSettled(host, userId))
      const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        reconciler.start(userId),
        reconciler.restart(userId),
        reconciler.update(userId),
        reconciler.repair(userId),
        Stream.runDrain(streamFromOpened(reconciler.chat(userId, turn(agent, "hello"))))
      ]
      for (const attempt of attempts) assert.strictEqual((yield* Effect.flip(attempt))._tag, "InstanceUnavailable")
      yield* reconciler.reconfigure(userId)
      assert.isTrue(yield* isSettled(host, userId))
      yield* users.setSuspendedAt(userId, null)
      yield* Stream.runDrain(streamFromOpened(reconciler.chat(userId, turn(agent, "hello again"))))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", agents: ["running"] })
      assert.isTrue(yield* isSettled(host, userId))
    }))

  test("stops the instance of an account that is suspended while it starts or crashes, without a restart", ({
    host,
    open
  }) =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      const assertAsleep = Effect.gen(function* () {
        assert.deepInclude(yield* rowsOf(userId), { desired: "asleep", startedAt: null, agents: ["running"] })
        assert.isTrue(yield* isSettled(host, userId))
      })
      yield* reconciler.deploy(agent.id)
      yield* users.setSuspendedAt(userId, yield* DateTime.now)
      assert.strictEqual((yield* Effect.flip(reconciler.start(userId)))._tag, "InstanceUnavailable")
      yield* assertAsleep
      yield* users.setSuspendedAt(userId, null)
      yield* Stream.runDrain(streamFromOpened(reconciler.chat(userId, turn(agent, "hello"))))
      yield* users.setSuspendedAt(userId, yield* DateTime.now)
      yield* host.crash(userId)
      yield* until(Effect.map(rowsOf(userId), ({ desired }) => desired === "asleep"))
      yield* assertAsleep
    }))

  test("provisions the agent of a suspended account without a start, and starts it with the first turn after", ({
    host,
    open
  }) =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* users.setSuspendedAt(userId, yield* DateTime.now)
      yield* reconciler.deploy(agent.id)
      assert.deepInclude(yield* rowsOf(userId), { desired: "asleep", startedAt: null, agents: ["running"] })
      assert.isTrue(yield* isSettled(host, userId))
      yield* users.setSuspendedAt(userId, null)
      yield* Stream.runDrain(streamFromOpened(reconciler.chat(userId, turn(agent, "hello"))))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", agents: ["running"] })
      assert.isTrue(yield* isSettled(host, userId))
    }))

  test("keeps an instance stopped by its owner stopped through a suspension", ({ host, open }) =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* reconciler.stop(userId)
      yield* users.setSuspendedAt(userId, yield* DateTime.now)
      yield* reconciler.reconfigure(userId)
      yield* users.setSuspendedAt(userId, null)
      assert.deepInclude(yield* rowsOf(userId), { desired: "down", status: "stopped" })
      assert.isTrue(yield* isSettled(host, userId))
    }))

  test("stops an instance without agents instead of reviving it", ({ host, open }) =>
    Effect.gen(function* () {
      const first = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* first.reconciler.deploy(agent.id)
      yield* (yield* AgentRepository).remove(agent.id)
      yield* host.crash(userId)
      yield* until(Effect.map(rowsOf(userId), ({ desired }) => desired === "down"))
      yield* until(isSettled(host, userId))
      assert.deepInclude(yield* rowsOf(userId), { status: "stopped", startedAt: null })
    }))

  test("keeps the instance of an agent in provisioning when the last running agent is removed", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      const next = yield* insertAgent(userId, { status: "provisioning" })
      yield* (yield* AgentRepository).remove(agent.id)
      yield* reconciler.reconfigure(userId)
      assert.isTrue(host.instances.has(userId))
      yield* host.crash(userId)
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", agents: ["provisioning"] })
      yield* reconciler.deploy(next.id)
      yield* until(isSettled(host, userId))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", agents: ["running"] })
    }))

  for (const state of ["running", "stopped"] as const)
    test(`deletes the files of a deleted agent of a ${state} instance, and no others`, ({ host, open }) =>
      Effect.gen(function* () {
        const { reconciler } = yield* open("backend")
        const { agent, userId } = yield* owner
        const deleted = yield* insertAgent(userId, { status: "running" })
        yield* reconciler.deploy(agent.id)
        if (state === "stopped") yield* reconciler.stop(userId)
        host.agentFiles.set(userId, [agent.id, deleted.id])
        yield* reconciler.reconfigure(userId)
        assert.deepStrictEqual(host.agentFiles.get(userId), [agent.id, deleted.id])
        yield* (yield* AgentRepository).remove(deleted.id)
        yield* reconciler.reconfigure(userId)
        assert.deepStrictEqual(host.agentFiles.get(userId), [agent.id])
      }))

  test("records the start time of the running instance", ({ host, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* host.crash(userId)
      yield* until(isSettled(host, userId))
      yield* until(
        Effect.map(
          rowsOf(userId),
          ({ startedAt }) => startedAt !== null && DateTime.toEpochMillis(startedAt) === startOf(host, userId)
        )
      )
    }))
})

const startOf = (host: FakeInstanceHost, userId: UserId) => host.instances.get(userId)?.instance.startedAt.epochMillis

/** Holds an owner's lock until the returned effect runs. */
const holdLock = (userId: UserId) =>
  Effect.gen(function* () {
    const [held, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    yield* Effect.fork(
      (yield* InstanceRepository).serialized(
        userId,
        Effect.zipRight(Deferred.succeed(held, undefined), Deferred.await(release))
      )
    )
    yield* Deferred.await(held)
    return Deferred.succeed(release, undefined)
  })

/** Waits until `number` calls have requested an owner's lock, counted from the last `crashAtStep`. */
const lockRequests = ({ steps }: ReconcilerProcess, number: number) =>
  until(Effect.sync(() => steps.filter((step) => step === "the owner's lock is requested").length >= number))
