import type { Agent } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { isUp } from "@berth/domain/agents/AgentStatus"
import type { Turn } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { assert, describe, it } from "@effect/vitest"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Deferred, Effect, Either, Fiber, Option, type Redacted, type Scope, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import {
  makeConnectionTerminator,
  makeReconcilerProcess,
  type ReconcilerProcess,
  testStorage
} from "../support/ReconcilerProcess.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { FakeInstanceHost } from "../fakes/FakeInstanceHost.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const until = <E, R>(condition: Effect.Effect<boolean, E, R>, what = "what must come to be") =>
  eventually(condition, (met) => met, { description: what })

/** Says what never came to be, rather than that a test took too long. */
const inTime = <A, E, R>(work: Effect.Effect<A, E, R>, what: string) =>
  Effect.timeoutFail(work, { duration: "30 seconds", onTimeout: () => `not ${what}` })

/** An owner with an agent and an instance, both as they are while nothing was ever started. */
const owner = Effect.gen(function* () {
  const { id } = yield* insertUser()
  yield* (yield* InstanceRepository).ensure(id, makeSubdomain(id))
  return { userId: id, agent: yield* insertAgent(id, { status: "provisioning" }) }
})

/** What the rows say. */
const rowsOf = (userId: UserId) =>
  Effect.gen(function* () {
    const { desired, runtimeVersion, startedAt, status } = Option.getOrThrow(
      yield* (yield* InstanceRepository).find(userId)
    )
    const agents = yield* (yield* AgentRepository).listOwned(userId)
    return { desired, status, startedAt, runtimeVersion, agents: agents.map((agent) => agent.status) }
  })

/** Whether there is a cell exactly where the rows say so, which knows exactly the agents that are up. */
const isSettled = (cells: FakeInstanceHost, userId: UserId) =>
  Effect.gen(function* () {
    const { desired, status } = yield* rowsOf(userId)
    const agents = yield* (yield* AgentRepository).listOwned(userId)
    const up = agents.filter((agent) => isUp(agent.status)).map(({ id }) => id)
    const cell = cells.instances.get(userId)
    if (desired === "down" || status === "error") return cell === undefined && up.length === 0
    return cell !== undefined && JSON.stringify(cell.agents) === JSON.stringify(up) && isUp(status)
  })

const test = <E>(
  name: string,
  body: (given: {
    readonly cells: FakeInstanceHost
    readonly database: Redacted.Redacted
    readonly open: (name: string) => Effect.Effect<ReconcilerProcess, never, Scope.Scope>
  }) => Effect.Effect<
    void,
    E,
    Scope.Scope | InstanceRepository | AgentRepository | SqlClient | Effect.Effect.Context<typeof owner>
  >
) =>
  it.scopedLive(name, () =>
    Effect.gen(function* () {
      const database = yield* migratedDatabase
      const cells = new FakeInstanceHost()
      yield* Effect.provide(
        body({ cells, database, open: (process) => makeReconcilerProcess(database, cells, process) }),
        testStorage(database, "test")
      )
    })
  )

const verbs = ["start", "stop", "restart", "update", "repair", "reconfigure"] as const
type Verb = (typeof verbs)[number]

describe("A keeper that is killed", () => {
  const doVerb = (
    { reconciler }: ReconcilerProcess,
    verb: Verb | "deploy",
    { agent, userId }: { userId: UserId; agent: Agent }
  ) => (verb === "deploy" ? reconciler.deploy(agent.id) : Effect.asVoid(reconciler[verb](userId)))

  for (const verb of ["deploy", ...verbs] as const)
    test(`at any step of ${verb} is followed by one that brings everything to where it should be`, ({ cells, open }) =>
      Effect.gen(function* () {
        /** An owner as he is before the verb. */
        const before = (first: ReconcilerProcess) =>
          Effect.gen(function* () {
            const person = yield* owner
            if (verb === "deploy") return person
            yield* first.reconciler.deploy(person.agent.id)
            if (verb === "start") yield* first.reconciler.stop(person.userId)
            return person
          })
        const cutConnections = yield* makeConnectionTerminator
        let keeper = yield* open(`keeper-${verb}-0`)
        let done = false
        for (let number = 1; !done; number++) {
          assert.isBelow(number, 40)
          cells.latestVersion = String(number)
          const person = yield* before(keeper)
          keeper.crashAtStep(number)
          const doing = yield* Effect.forkDaemon(doVerb(keeper, verb, person))
          done = yield* inTime(
            Effect.raceFirst(Effect.as(Fiber.await(doing), true), Effect.as(keeper.crashed, false)),
            `done or dead at step ${number}`
          )
          const at = keeper.steps.at(-1) ?? "its end"
          yield* cutConnections(`keeper-${verb}-${number - 1}`)
          keeper = yield* inTime(open(`keeper-${verb}-${number}`), `open after ${at}`)
          // A deployment is a job, which comes again.
          if (verb === "deploy") yield* inTime(keeper.reconciler.deploy(person.agent.id), `deployed after ${at}`)
          yield* until(
            isSettled(cells, person.userId),
            `everything to be where it should after a death at step ${number}: ${at}`
          )
          // And its owner can do with it what he likes.
          yield* inTime(keeper.reconciler.start(person.userId), `started after ${at}`)
          assert.isTrue(yield* isSettled(cells, person.userId), `not started after a death at step ${number}: ${at}`)
          yield* inTime(keeper.reconciler.stop(person.userId), `stopped after ${at}`)
          assert.isTrue(yield* isSettled(cells, person.userId), `not stopped after a death at step ${number}: ${at}`)
          if (done) assert.isAtLeast(number, 4)
        }
      }))
})

describe("A keeper", () => {
  test("a deployment that waits its turn does not undo a stop that goes before it", ({ cells, open }) =>
    Effect.gen(function* () {
      const process = yield* open("keeper")
      const { agent, userId } = yield* owner
      const letGo = yield* heldTurn(userId)
      const stopping = yield* Effect.fork(process.reconciler.stop(userId))
      yield* turnsAsked(process, 1)
      const deploying = yield* Effect.fork(process.reconciler.deploy(agent.id))
      yield* turnsAsked(process, 2)
      yield* letGo
      yield* Fiber.join(stopping)
      yield* Fiber.join(deploying)
      assert.deepInclude(yield* rowsOf(userId), { desired: "down", status: "stopped", agents: ["stopped"] })
      assert.isFalse(cells.instances.has(userId))
    }))

  test("a deployment that succeeds while it is given up stays, and one that was given up is not brought up", ({
    cells,
    open
  }) =>
    Effect.gen(function* () {
      const process = yield* open("keeper")
      const { reconciler } = process
      const [slow, late] = [yield* owner, yield* owner]
      const letGo = yield* heldTurn(slow.userId)
      const deploying = yield* Effect.fork(reconciler.deploy(slow.agent.id))
      yield* turnsAsked(process, 1)
      const givingUp = yield* Effect.fork(reconciler.failDeployment(slow.agent.id, "late"))
      yield* turnsAsked(process, 2)
      yield* letGo
      yield* Fiber.join(deploying)
      yield* Fiber.join(givingUp)
      assert.deepInclude(yield* rowsOf(slow.userId), { desired: "up", status: "running", agents: ["running"] })
      yield* reconciler.failDeployment(slow.agent.id, "later still")
      assert.deepStrictEqual((yield* rowsOf(slow.userId)).agents, ["running"])

      yield* reconciler.failDeployment(late.agent.id, "too late")
      yield* reconciler.deploy(late.agent.id)
      assert.deepInclude(yield* rowsOf(late.userId), { desired: "down", status: "error", agents: ["error"] })
      assert.isFalse(cells.instances.has(late.userId))
    }))

  test("a given up deployment leaves no cell behind", ({ cells, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("keeper")
      const { agent, userId } = yield* owner
      cells.configureFailure = () => "it does not understand"
      assert.isTrue(Either.isLeft(yield* Effect.either(reconciler.deploy(agent.id))))
      assert.isTrue(cells.instances.has(userId))
      yield* reconciler.failDeployment(agent.id, "it does not understand")
      assert.isFalse(cells.instances.has(userId))
      assert.isTrue(yield* isSettled(cells, userId))
    }))

  for (const verb of ["restart", "update", "repair"] as const)
    for (const how of ["start", "take its agents"] as const)
      test(`${verb} of an instance that is up, whose new cell does not ${how}, fails, and the instance comes back`, ({
        cells,
        open
      }) =>
        Effect.gen(function* () {
          const { reconciler } = yield* open("keeper")
          const { agent, userId } = yield* owner
          yield* reconciler.deploy(agent.id)
          cells.latestVersion = "2"
          let broken = true
          const fails = (_: UserId, version: string) =>
            broken && (version === "2" || verb === "restart") ? "it is broken" : undefined
          if (how === "start") cells.startFailure = fails
          else cells.configureFailure = fails
          const before = yield* rowsOf(userId)
          const outcome = yield* Effect.either(Effect.asVoid(reconciler[verb](userId)))
          assert.strictEqual(Either.isLeft(outcome) ? outcome.left._tag : "it succeeded", "InstanceUnavailable")
          const after = yield* rowsOf(userId)
          assert.deepInclude(after, { desired: before.desired, status: before.status, agents: before.agents })
          if (verb === "restart") assert.isNull(after.startedAt)
          else {
            // Back before the caller hears of the failure.
            assert.isTrue(yield* isSettled(cells, userId))
            assert.strictEqual(after.runtimeVersion, "1")
            assert.isNotNull(after.startedAt)
          }
          broken = false
          yield* until(isSettled(cells, userId))
          assert.strictEqual(cells.instances.get(userId)?.version, "1")
          yield* until(Effect.map(rowsOf(userId), ({ startedAt }) => startedAt !== null))
        }))

  for (const verb of ["start", "update", "repair"] as const)
    test(`${verb} of a stopped instance that fails leaves it stopped, without a cell`, ({ cells, open }) =>
      Effect.gen(function* () {
        const { reconciler } = yield* open("keeper")
        const { agent, userId } = yield* owner
        yield* reconciler.deploy(agent.id)
        yield* reconciler.stop(userId)
        cells.configureFailure = () => "it is broken"
        assert.isTrue(Either.isLeft(yield* Effect.either(reconciler[verb](userId))))
        assert.isFalse(cells.instances.has(userId))
        assert.deepInclude(yield* rowsOf(userId), { desired: "down", status: "stopped", agents: ["stopped"] })
      }))

  test("an update moves the instance to the newest version, a restart does not", ({ cells, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      cells.latestVersion = "2"
      assert.strictEqual((yield* reconciler.restart(userId)).runtimeVersion, "1")
      yield* reconciler.update(userId)
      assert.deepInclude(yield* rowsOf(userId), { runtimeVersion: "2", status: "running", agents: ["running"] })
    }))

  const turn = (agent: Agent, message: string): Turn => ({
    agentId: agent.id,
    sessionId: "chs_1",
    messageId: "msg_1",
    summary: null,
    memories: [],
    history: [],
    message
  })

  test("a turn that a dying cell never got goes to the next one, and is not sent twice where it may have arrived", ({
    cells,
    open
  }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      const ask = (message: string) => Effect.either(Stream.runCollect(reconciler.chat(userId, turn(agent, message))))
      const heardBy = (message: string) => cells.receivedMessages.filter((one) => one.message === message)
      assert.isTrue(Either.isRight(yield* ask("first")))

      cells.undetectedCrashes.add(userId)
      assert.isTrue(Either.isRight(yield* ask("second")))
      assert.deepStrictEqual(
        heardBy("second").map(({ startedAt }) => startedAt),
        [2]
      )
      assert.isTrue(yield* isSettled(cells, userId))

      cells.breaksConnections = true
      const broken = yield* ask("third")
      assert.strictEqual(Either.isLeft(broken) ? broken.left._tag : "it succeeded", "InstanceUnavailable")
      assert.strictEqual(heardBy("third").length, 1)

      // One that dies as fast as it comes up is no reason to go on for ever.
      cells.breaksConnections = false
      cells.startFailure = () => "it is broken"
      cells.undetectedCrashes.add(userId)
      const dead = yield* ask("fourth")
      assert.strictEqual(Either.isLeft(dead) ? dead.left._tag : "it succeeded", "InstanceUnavailable")
      assert.strictEqual(heardBy("fourth").length, 0)
    }))

  test("a cell that dies again and again is given up, and its owner can start it again", ({ cells, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      cells.startFailure = () => "it is broken"
      for (let deaths = 0; deaths < 6; deaths++) yield* cells.crash(userId)
      yield* until(Effect.map(rowsOf(userId), ({ status }) => status === "error"))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", startedAt: null, agents: ["error"] })
      assert.isTrue(yield* isSettled(cells, userId))
      cells.startFailure = () => undefined
      yield* reconciler.start(userId)
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", status: "active", agents: ["active"] })
      assert.isTrue(yield* isSettled(cells, userId))
    }))

  for (const [verb, status] of [
    ["start", "active"],
    ["stop", "stopped"]
  ] as const)
    test(`giving a cell up that waits its turn does not undo a ${verb} that goes before it`, ({ cells, open }) =>
      Effect.gen(function* () {
        const process = yield* open("keeper")
        const { agent, userId } = yield* owner
        yield* process.reconciler.deploy(agent.id)
        const letGo = yield* heldTurn(userId)
        process.crashAtStep(Number.POSITIVE_INFINITY)
        const doing = yield* Effect.fork(process.reconciler[verb](userId))
        yield* turnsAsked(process, 1)
        for (let deaths = 0; deaths < 6; deaths++) yield* cells.crash(userId)
        yield* turnsAsked(process, 2)
        yield* letGo
        yield* Fiber.join(doing)
        // Behind whoever waits.
        yield* process.reconciler.reconfigure(userId)
        yield* until(isSettled(cells, userId))
        assert.deepInclude(yield* rowsOf(userId), { status, agents: [status] })
      }))

  test("an instance without agents is put down when it would be revived", ({ cells, open }) =>
    Effect.gen(function* () {
      const first = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* first.reconciler.deploy(agent.id)
      yield* (yield* AgentRepository).remove(agent.id)
      yield* cells.crash(userId)
      yield* until(Effect.map(rowsOf(userId), ({ desired }) => desired === "down"))
      yield* until(isSettled(cells, userId))
      assert.deepInclude(yield* rowsOf(userId), { status: "stopped", startedAt: null })
    }))

  test("taking the last running agent away leaves one alone that is being provisioned", ({ cells, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      const next = yield* insertAgent(userId, { status: "provisioning" })
      yield* (yield* AgentRepository).remove(agent.id)
      yield* reconciler.reconfigure(userId)
      assert.isTrue(cells.instances.has(userId))
      yield* cells.crash(userId)
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", agents: ["provisioning"] })
      yield* reconciler.deploy(next.id)
      yield* until(isSettled(cells, userId))
      assert.deepInclude(yield* rowsOf(userId), { desired: "up", agents: ["running"] })
    }))

  test("the moment of a start is that of the cell that is up", ({ cells, open }) =>
    Effect.gen(function* () {
      const { reconciler } = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* reconciler.deploy(agent.id)
      yield* cells.crash(userId)
      yield* until(isSettled(cells, userId))
      yield* until(
        Effect.map(
          rowsOf(userId),
          ({ startedAt }) => startedAt !== null && DateTime.toEpochMillis(startedAt) === startOf(cells, userId)
        )
      )
    }))
})

const startOf = (cells: FakeInstanceHost, userId: UserId) => cells.instances.get(userId)?.cell.startedAt.epochMillis

/** An owner's turn that is held until somebody lets it go. */
const heldTurn = (userId: UserId) =>
  Effect.gen(function* () {
    const [held, letGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    yield* Effect.fork(
      (yield* InstanceRepository).serialized(
        userId,
        Effect.zipRight(Deferred.succeed(held, undefined), Deferred.await(letGo))
      )
    )
    yield* Deferred.await(held)
    return Deferred.succeed(letGo, undefined)
  })

/** Until so many of a keeper's calls have asked for an owner's turn, counted from `dieAt` on. */
const turnsAsked = ({ steps }: ReconcilerProcess, number: number) =>
  until(Effect.sync(() => steps.filter((step) => step === "the owner's turn is asked for").length >= number))
