import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { Users } from "@berth/domain/accounts/Users"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { accountRemovalHandler, instanceRemovalHandler } from "@berth/worker/jobs/JobHandlers"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Redacted, type Scope } from "effect"
import { eventually } from "../support/Eventually.ts"
import {
  makeConnectionTerminator,
  makeReconcilerProcess,
  type ReconcilerProcess
} from "../support/ReconcilerProcess.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { testStorage } from "../support/TestStorage.ts"
import { FakeInstanceHost } from "../fakes/FakeInstanceHost.ts"
import { UserId } from "@berth/domain/shared/UserId"

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

/** Whether the rows can be removed now. */
const tryToRemoveRows = (userId: UserId) =>
  Effect.gen(function* () {
    const users = yield* UserRepository
    const { run } = yield* Transaction
    return yield* Effect.isSuccess(run(users.remove(userId, `fmr_${userId}`)))
  })

/** The worker's jobs of a deletion, with one backend. */
const runJobs = ({ orphanCleanup }: ReconcilerProcess, userId: UserId) => {
  const job = { id: "job_1", payload: { userId }, trace: null, attempt: 1, isLastAttempt: false }
  return accountRemovalHandler
    .handle({ ...job, name: accountRemovalHandler.kind.name })
    .pipe(
      Effect.zipRight(instanceRemovalHandler.handle({ ...job, name: instanceRemovalHandler.kind.name })),
      Effect.provide(
        Layer.merge(
          accountRemoval,
          AgentManagerTest.layerWithBehavior({ remove: (owner) => Effect.orDie(orphanCleanup.remove(owner)) })
        )
      )
    )
}

const hasInstance = (host: FakeInstanceHost, userId: UserId) =>
  host.instances.has(userId) || host.storedVersions.has(userId)
const waitUntilRemoved = (host: FakeInstanceHost, userId: UserId) =>
  eventually(
    Effect.sync(() => hasInstance(host, userId)),
    (there) => !there
  )

const countLockRequests = ({ steps }: ReconcilerProcess) =>
  steps.filter((step) => step === "the owner's lock is requested").length

const test = <E>(
  name: string,
  body: (fixture: {
    readonly host: FakeInstanceHost
    readonly open: (name: string) => Effect.Effect<ReconcilerProcess, never, Scope.Scope>
  }) => Effect.Effect<void, E, Scope.Scope | Layer.Layer.Success<ReturnType<typeof testStorage>>>
) =>
  it.scopedLive(`OrphanCleanup ${name}`, () =>
    Effect.gen(function* () {
      const database: Redacted.Redacted = yield* migratedDatabase
      const host = new FakeInstanceHost()
      yield* Effect.provide(
        body({ host, open: (process) => makeReconcilerProcess(database, host, process) }),
        testStorage(database, { maxConnections: 4 })
      )
    })
  )

describe("OrphanCleanup", () => {
  test("removes the instance of a deleted account in every state, and keeps those of others", ({ host, open }) =>
    Effect.gen(function* () {
      const process = yield* open("backend")
      const [up, stopped, never, other] = [yield* owner, yield* owner, yield* owner, yield* owner]
      for (const person of [up, stopped, other]) yield* process.reconciler.deploy(person.agent.id)
      yield* process.reconciler.stop(stopped.userId)
      for (const { userId } of [up, stopped, never]) {
        yield* runJobs(process, userId)
        assert.isFalse(hasInstance(host, userId))
        yield* runJobs(process, userId)
      }
      assert.isTrue(host.instances.has(other.userId))
    }))

  test("keeps the instance of an account that is not deleted", ({ host, open }) =>
    Effect.gen(function* () {
      const process = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* process.reconciler.deploy(agent.id)
      yield* process.orphanCleanup.remove(userId)
      assert.isTrue(host.instances.has(userId))
    }))

  test("finishes a removal after a crash of the backend at any step, without the job", ({ host, open }) =>
    Effect.gen(function* () {
      const cutConnections = yield* makeConnectionTerminator
      let process = yield* open("backend-0")
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
        yield* cutConnections(`backend-${number - 1}`)
        process = yield* open(`backend-${number}`)
        yield* waitUntilRemoved(host, userId)
        if (done) assert.isAtLeast(number, 4, at)
      }
    }))

  test("removes the instance of an account that was deleted while the backend was down", ({ host, open }) =>
    Effect.gen(function* () {
      const [gone, other] = [yield* owner, yield* owner]
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { reconciler } = yield* open("before")
          for (const { agent } of [gone, other]) yield* reconciler.deploy(agent.id)
        })
      )
      assert.isTrue(host.instances.has(gone.userId))
      yield* removeRows(gone.userId)
      yield* open("after")
      yield* waitUntilRemoved(host, gone.userId)
      assert.isTrue(host.instances.has(other.userId))
    }))

  test("keeps the instances of owners unknown to the database", ({ host, open }) =>
    Effect.gen(function* () {
      const stranger = UserId.make("usr_of_another_installation")
      host.storedVersions.set(stranger, "1")
      const gone = yield* owner
      host.storedVersions.set(gone.userId, "1")
      yield* removeRows(gone.userId)
      yield* open("backend")
      yield* waitUntilRemoved(host, gone.userId)
      assert.isTrue(hasInstance(host, stranger))
    }))

  for (const verb of ["deploy", "start", "restart", "update", "repair"] as const)
    test(`removes the instance when the account is deleted at any step of a ${verb}`, ({ host, open }) =>
      Effect.gen(function* () {
        const process = yield* open("backend")
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
          const requested = countLockRequests(process)
          const removing = yield* Effect.forkDaemon(process.orphanCleanup.remove(userId))
          // The removal waits for the lock; without it, it would complete too early.
          yield* eventually(
            Effect.sync(() => countLockRequests(process) > requested || removing.unsafePoll() !== null),
            (isSo) => isSo
          )
          yield* reached.resume
          yield* Effect.timeout(Fiber.join(doing), "30 seconds")
          yield* Effect.timeout(Fiber.join(removing), "30 seconds")
          assert.isFalse(hasInstance(host, userId), `paused at step ${number}`)
          // Later calls of the interrupted launch must not bring the instance back.
          yield* Effect.exit(process.reconciler.reconfigure(userId))
          yield* Effect.exit(process.reconciler.start(userId))
          assert.isFalse(hasInstance(host, userId), `paused at step ${number}, later`)
        }
      }))

  test("removes an instance that crashes at that moment", ({ host, open }) =>
    Effect.gen(function* () {
      const process = yield* open("backend")
      const { agent, userId } = yield* owner
      yield* process.reconciler.deploy(agent.id)
      const release = yield* Deferred.make<void>()
      yield* removeRows(userId)
      const removing = yield* Effect.fork(
        Effect.zipRight(Deferred.await(release), process.orphanCleanup.remove(userId))
      )
      yield* host.crash(userId)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(removing)
      assert.isFalse(hasInstance(host, userId))
    }))
})
