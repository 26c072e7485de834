import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { Users } from "@berth/domain/accounts/Users"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { accountRemovalHandler } from "@berth/worker/recovery/AccountRemovalHandler"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Redacted, type Scope, Stream } from "effect"
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
import { UserId } from "@berth/domain/shared/UserId"

/** An owner with an instance and an agent that is to be deployed. */
const owner = Effect.gen(function* () {
  const { id } = yield* insertUser()
  yield* (yield* InstanceRepository).ensure(id, makeSubdomain(id))
  return { userId: id, agent: yield* insertAgent(id, { status: "provisioning" }) }
})

const accountRemoval = Layer.provide(AccountRemoval.Default, Users.Default)

const removeRows = (userId: UserId) =>
  Effect.provide(
    Effect.flatMap(AccountRemoval, ({ remove }) => remove(userId)),
    accountRemoval
  )

/** Whether the rows could be removed just now. */
const tryToRemoveRows = (userId: UserId) =>
  Effect.gen(function* () {
    const users = yield* UserRepository
    const { run } = yield* Transaction
    return yield* Effect.isSuccess(run(users.remove(userId, `fmr_${userId}`)))
  })

/** The job as a worker runs it, against one backend. */
const runJob = ({ orphanCleanup }: ReconcilerProcess, userId: UserId) =>
  accountRemovalHandler
    .handle({
      id: "job_1",
      name: "remove-account",
      payload: { userId },
      trace: null,
      attempt: 1,
      attempts: 5
    })
    .pipe(
      Effect.provide(
        Layer.merge(
          accountRemoval,
          Layer.mock(AgentManager, { chat: () => Stream.empty, remove: orphanCleanup.remove })
        )
      )
    )

/** Whether the host has anything of the owner's. */
const isThere = (cells: FakeInstanceHost, userId: UserId) =>
  cells.instances.has(userId) || cells.storedVersions.has(userId)
const cleared = (cells: FakeInstanceHost, userId: UserId) =>
  eventually(
    Effect.sync(() => isThere(cells, userId)),
    (there) => !there
  )

/** How often an owner's turn was asked for. */
const turnsAsked = ({ steps }: ReconcilerProcess) =>
  steps.filter((step) => step === "the owner's turn is asked for").length

const test = <E>(
  name: string,
  body: (given: {
    readonly cells: FakeInstanceHost
    readonly open: (name: string) => Effect.Effect<ReconcilerProcess, never, Scope.Scope>
  }) => Effect.Effect<void, E, Scope.Scope | Layer.Layer.Success<ReturnType<typeof testStorage>>>
) =>
  it.scopedLive(name, () =>
    Effect.gen(function* () {
      const database: Redacted.Redacted = yield* migratedDatabase
      const cells = new FakeInstanceHost()
      yield* Effect.provide(
        body({ cells, open: (process) => makeReconcilerProcess(database, cells, process) }),
        testStorage(database, "test")
      )
    })
  )

describe("What an owner leaves whose account was deleted", () => {
  test("is cleared away by the job, whatever state his cell is in, and others keep theirs", ({ cells, open }) =>
    Effect.gen(function* () {
      const process = yield* open("keeper")
      const [up, stopped, never, other] = [yield* owner, yield* owner, yield* owner, yield* owner]
      for (const person of [up, stopped, other]) yield* process.reconciler.deploy(person.agent.id)
      yield* process.reconciler.stop(stopped.userId)
      for (const { userId } of [up, stopped, never]) {
        yield* runJob(process, userId)
        assert.isFalse(isThere(cells, userId))
        // It may run twice.
        yield* runJob(process, userId)
      }
      assert.isTrue(cells.instances.has(other.userId))
    }))

  test("stays while the account is there, even if somebody says that it is not", ({ cells, open }) =>
    Effect.gen(function* () {
      const process = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* process.reconciler.deploy(agent.id)
      yield* process.orphanCleanup.remove(userId)
      assert.isTrue(cells.instances.has(userId))
    }))

  test("goes when the backend dies at any step of it and comes back, without the job", ({ cells, open }) =>
    Effect.gen(function* () {
      const cutConnections = yield* makeConnectionTerminator
      let process = yield* open("keeper-0")
      let done = false
      for (let number = 1; !done; number++) {
        assert.isBelow(number, 20)
        const { agent, userId } = yield* owner
        yield* process.reconciler.deploy(agent.id)
        yield* removeRows(userId)
        process.crashAtStep(number)
        const doing = yield* Effect.forkDaemon(process.orphanCleanup.remove(userId))
        done = yield* Effect.raceFirst(Effect.as(Fiber.await(doing), true), Effect.as(process.crashed, false)).pipe(
          Effect.timeout("30 seconds")
        )
        const at = process.steps.at(-1) ?? "its end"
        yield* cutConnections(`keeper-${number - 1}`)
        process = yield* open(`keeper-${number}`)
        yield* cleared(cells, userId)
        if (done) assert.isAtLeast(number, 4, at)
      }
    }))

  test("goes when the account was deleted while the backend was down", ({ cells, open }) =>
    Effect.gen(function* () {
      const [gone, other] = [yield* owner, yield* owner]
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { reconciler } = yield* open("before")
          for (const { agent } of [gone, other]) yield* reconciler.deploy(agent.id)
        })
      )
      assert.isTrue(cells.instances.has(gone.userId))
      yield* removeRows(gone.userId)
      yield* open("after")
      yield* cleared(cells, gone.userId)
      assert.isTrue(cells.instances.has(other.userId))
    }))

  test("stays where the database has never heard of him: it may be the wrong one", ({ cells, open }) =>
    Effect.gen(function* () {
      const stranger = UserId.make("usr_of_another_installation")
      cells.storedVersions.set(stranger, "1")
      const gone = yield* owner
      cells.storedVersions.set(gone.userId, "1")
      yield* removeRows(gone.userId)
      yield* open("keeper")
      yield* cleared(cells, gone.userId)
      assert.isTrue(isThere(cells, stranger))
    }))

  for (const verb of ["deploy", "start", "restart", "update", "repair"] as const)
    test(`goes although a ${verb} was at any step of its way when the account went`, ({ cells, open }) =>
      Effect.gen(function* () {
        const process = yield* open("keeper")
        let done = false
        for (let number = 1; !done; number++) {
          assert.isBelow(number, 40)
          const { agent, userId } = yield* owner
          if (verb !== "deploy") yield* process.reconciler.deploy(agent.id)
          const reached = yield* process.pauseAtStep(number)
          const doing = yield* Effect.forkDaemon(
            Effect.exit(
              verb === "deploy" ? process.reconciler.deploy(agent.id) : Effect.asVoid(process.reconciler[verb](userId))
            )
          )
          done = yield* Effect.raceFirst(Effect.as(Fiber.await(doing), true), Effect.as(reached.reached, false)).pipe(
            Effect.timeout("30 seconds")
          )
          const atOnce = yield* tryToRemoveRows(userId)
          if (!atOnce) yield* reached.resume
          yield* removeRows(userId)
          const asked = turnsAsked(process)
          const removing = yield* Effect.forkDaemon(process.orphanCleanup.remove(userId))
          // It waits for its turn; if it did not, it would be done too early.
          yield* eventually(
            Effect.sync(() => turnsAsked(process) > asked || removing.unsafePoll() !== null),
            (isSo) => isSo
          )
          yield* reached.resume
          yield* Effect.timeout(Fiber.join(doing), "30 seconds")
          yield* Effect.timeout(Fiber.join(removing), "30 seconds")
          assert.isFalse(isThere(cells, userId), `paused at step ${number}`)
          // What was begun may look at it again, and finds nothing to bring back.
          yield* Effect.exit(process.reconciler.reconfigure(userId))
          yield* Effect.exit(process.reconciler.start(userId))
          assert.isFalse(isThere(cells, userId), `paused at step ${number}, later`)
        }
      }))

  test("goes with a cell that dies at that moment", ({ cells, open }) =>
    Effect.gen(function* () {
      const process = yield* open("keeper")
      const { agent, userId } = yield* owner
      yield* process.reconciler.deploy(agent.id)
      const letGo = yield* Deferred.make<void>()
      yield* removeRows(userId)
      const removing = yield* Effect.fork(Effect.zipRight(Deferred.await(letGo), process.orphanCleanup.remove(userId)))
      yield* cells.crash(userId)
      yield* Deferred.succeed(letGo, undefined)
      yield* Fiber.join(removing)
      assert.isFalse(isThere(cells, userId))
    }))
})
