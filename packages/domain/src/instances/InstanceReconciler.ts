import { Cause, DateTime, Duration, Effect, Fiber, FiberMap, Option, Ref, Schedule, Stream } from "effect"
import { type User } from "../shared/User.ts"
import { Users } from "../accounts/Users.ts"
import type { Agent } from "../agents/Agent.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { type AgentLifecycleEvent, type AgentStatus, isUp } from "../agents/AgentStatus.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { AgentRuntime, type RuntimeAccess, type Turn } from "./AgentRuntime.ts"
import { InstanceContents } from "./InstanceContents.ts"
import { decideRestart, crashWindow } from "./RestartPolicy.ts"
import { type Instance } from "./Instance.ts"
import { type RunningInstance, type InstanceExit, InstanceDriver } from "./InstanceDriver.ts"
import { InstanceUnavailable, InstanceNotFound } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { selectAgentsToStart } from "./StartSelection.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** After a fault of our own, for example of the database. */
const careAgain = Duration.seconds(5)

/**
 * The backend's keeper of the cells: makes each cell what its rows say it should be, restarts cells that die, and passes
 * turns on to them. Everything it knows is in the rows and the cells themselves, so another backend can take over.
 */
export class InstanceReconciler extends Effect.Service<InstanceReconciler>()("@berth/InstanceReconciler", {
  scoped: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const instances = yield* InstanceRepository
    const users = yield* Users
    const allowances = yield* Allowances
    const driver = yield* InstanceDriver
    const runtime = yield* AgentRuntime
    const transaction = yield* Transaction
    const contents = yield* InstanceContents
    const scope = yield* Effect.scope
    const restarts = yield* FiberMap.make<UserId>()
    const deaths = yield* Ref.make<ReadonlyMap<UserId, ReadonlyArray<number>>>(new Map())

    /** What was begun is finished, also when whoever asked for it has left. */
    const toTheEnd = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Effect.forkIn(Effect.interruptible(effect), scope), Fiber.join)

    const ownerOf = (userId: UserId) => Effect.mapError(users.find(userId), () => new InstanceNotFound())
    const instanceOf = (userId: UserId) =>
      Effect.flatMap(
        instances.find(userId),
        Effect.mapError(() => new InstanceNotFound())
      )

    const bringUp = Effect.fn("InstanceReconciler.bringUp")(
      function* (owner: User) {
        const spec = yield* contents.makeSpec(owner)
        return { instance: yield* driver.start(spec), token: spec.token } satisfies RuntimeAccess
      },
      Effect.mapError(({ reason }) => new InstanceUnavailable({ reason }))
    )

    /** Moves agents and the instance's row in one transaction. */
    const record = (
      userId: UserId,
      event: AgentLifecycleEvent,
      members: ReadonlyArray<Agent>,
      changes: Parameters<InstanceRepository["Type"]["update"]>[1]
    ) => transaction.run(Effect.zipRight(agents.applyEventToAll(members, event), instances.update(userId, changes)))

    const upChanges = (cell: RunningInstance, status: Instance["status"]) =>
      ({ desired: "up", status, startedAt: cell.startedAt, runtimeVersion: cell.runtimeVersion }) as const

    const deploy = Effect.fn("InstanceReconciler.deploy")(function* (agentId: AgentId) {
      const found = yield* agents.find(agentId)
      // Deleted or stopped meanwhile, or done by an earlier attempt: nothing to do.
      if (Option.isNone(found) || found.value.status !== "provisioning") return
      const userId = found.value.ownerId
      yield* Effect.annotateCurrentSpan({ "agent.id": agentId, "user.id": userId })
      yield* instances
        .serialized(
          userId,
          Effect.gen(function* () {
            const members = yield* agents.listOwned(userId)
            // While this waited for its turn the owner may have stopped or removed it; that is not undone.
            if (!members.some(({ id, status }) => id === agentId && status === "provisioning")) return
            const owner = yield* ownerOf(userId)
            const access = yield* bringUp(owner)
            yield* contents.configure(
              access,
              members.filter(({ id, status }) => isUp(status) || id === agentId)
            )
            const instance = yield* instanceOf(userId)
            yield* record(
              userId,
              "deployed",
              members.filter(({ id }) => id === agentId),
              upChanges(access.instance, isUp(instance.status) ? instance.status : "running")
            )
            yield* Effect.logInfo("An agent is running").pipe(Effect.annotateLogs({ agentId, userId }))
          })
        )
        .pipe(Effect.catchTag("InstanceNotFound", () => Effect.void))
    })

    const failDeployment = Effect.fn("InstanceReconciler.failDeployment")(function* (agentId: AgentId, reason: string) {
      const found = yield* agents.find(agentId)
      if (Option.isNone(found)) return
      yield* instances.serialized(
        found.value.ownerId,
        Effect.gen(function* () {
          // A deployment that was in work just now may have succeeded.
          const agent = yield* agents.find(agentId)
          if (Option.isNone(agent) || agent.value.status !== "provisioning") return
          yield* agents.applyEvent(agent.value, "deployment-failed")
          yield* Effect.logError("An agent could not be provisioned").pipe(Effect.annotateLogs({ agentId, reason }))
          const { ownerId } = agent.value
          const members = yield* agents.listOwned(ownerId)
          if (members.some(({ status }) => needsCell(status))) return
          // What a deployment has left of a cell goes; an instance that never was up has failed with its first agent.
          const failed = Option.exists(yield* instances.find(ownerId), ({ status }) => status === "provisioning")
          yield* lower(ownerId, failed ? "error" : "stopped")
        })
      )
    })

    /** A cell with these agents in it, in the way that the event asks for. */
    const raise = (owner: User, event: LaunchEvent, members: ReadonlyArray<Agent>) =>
      Effect.gen(function* () {
        if (event === "started" || event === "restarted") {
          if (event === "restarted") yield* driver.stop(owner.id)
          const access = yield* bringUp(owner)
          yield* contents.configure(access, members)
          return access.instance
        }
        const spec = yield* contents.makeSpec(owner)
        // A version that comes up and then does not understand its configuration is no better than one that does not.
        return yield* driver
          .update(spec, { fresh: event === "repaired" }, (cell) =>
            contents.configure({ instance: cell, token: spec.token }, members)
          )
          .pipe(Effect.catchTag("InstanceStartFailed", ({ reason }) => new InstanceUnavailable({ reason })))
      })

    /** Brings the instance up with every agent it may have. The caller holds the owner's turn. */
    const launch = (userId: UserId, event: LaunchEvent) =>
      Effect.gen(function* () {
        yield* instanceOf(userId)
        const owner = yield* ownerOf(userId)
        const allowance = yield* allowances.find(owner)
        const { leave, start } = selectAgentsToStart(yield* agents.listOwned(userId), allowance.agents)
        if (leave.length > 0)
          yield* Effect.logWarning("Agents over the plan's limit stay as they are").pipe(
            Effect.annotateLogs({ userId, agentIds: leave })
          )
        const { healings, members } = yield* agents.replaceRetiredModels(start)
        const cell = yield* raise(owner, event, members)
        yield* record(userId, event, members, upChanges(cell, event === "updated" ? "running" : "active"))
        yield* Ref.update(deaths, (all) => without(all, userId))
        return { runtimeVersion: cell.runtimeVersion, healings }
      })

    /** One launch at a time, and none that was only going to be tried again. What fails is put right, as the rows say. */
    const relaunch = (userId: UserId, event: LaunchEvent) =>
      FiberMap.remove(restarts, userId).pipe(
        Effect.zipRight(instances.serialized(userId, launch(userId, event))),
        Effect.tapErrorCause((cause) => {
          if (Cause.isInterruptedOnly(cause)) return Effect.void
          const failure = Cause.failureOption(cause)
          if (Option.isNone(failure)) return careLater(userId)
          if (failure.value._tag === "InstanceNotFound") return Effect.void
          // The version before is there at once, so it comes back before the caller hears of the failure.
          return event === "updated" || event === "repaired" ? care(userId) : afterFailure(userId, failure.value.reason)
        })
      )

    const start = Effect.fn("InstanceReconciler.start")((userId: UserId) => Effect.asVoid(relaunch(userId, "started")))
    const restart = Effect.fn("InstanceReconciler.restart")((userId: UserId) => relaunch(userId, "restarted"))
    const update = Effect.fn("InstanceReconciler.update")((userId: UserId) =>
      Effect.asVoid(relaunch(userId, "updated"))
    )
    const repair = Effect.fn("InstanceReconciler.repair")((userId: UserId) =>
      Effect.asVoid(relaunch(userId, "repaired"))
    )

    /** No cell any more, and the rows say so. The caller holds the owner's turn. */
    const putDown = Effect.fnUntraced(function* (userId: UserId) {
      yield* driver.stop(userId)
      yield* record(userId, "stopped", yield* agents.listOwned(userId), { status: "stopped", startedAt: null })
    })

    /** No cell any more, since no agent needs one; the agents stay what they are. The caller holds the owner's turn. */
    const lower = Effect.fnUntraced(function* (userId: UserId, status: "stopped" | "error") {
      yield* instances.update(userId, { desired: "down" })
      yield* driver.stop(userId)
      yield* instances.update(userId, { status, startedAt: null })
    })

    const stop = Effect.fn("InstanceReconciler.stop")(function* (userId: UserId) {
      yield* FiberMap.remove(restarts, userId)
      yield* instances.serialized(
        userId,
        Effect.gen(function* () {
          yield* instanceOf(userId)
          // The wish first: a backend that dies between the two is followed by one that finishes the stop.
          yield* instances.update(userId, { desired: "down" })
          yield* putDown(userId)
        })
      )
    })

    /** What a backend that died in the middle of a stop or a start has left: no cell stays where none should be. */
    const finishStop = Effect.fn("InstanceReconciler.finishStop")(function* (userId: UserId) {
      yield* instances.serialized(
        userId,
        Effect.flatMap(
          instances.find(userId),
          Option.match({
            onNone: () => Effect.void,
            onSome: ({ desired, status }) => {
              // A first agent's deployment belongs to its job, which comes again.
              if (status === "provisioning" || (desired === "up" && status !== "error")) return Effect.void
              return status === "stopped" || status === "error" ? driver.stop(userId) : putDown(userId)
            }
          })
        )
      )
    })

    const reconfigure = Effect.fn("InstanceReconciler.reconfigure")(function* (userId: UserId) {
      yield* instances.serialized(
        userId,
        Effect.gen(function* () {
          const cell = yield* driver.inspect(userId)
          if (Option.isNone(cell)) return
          const owned = yield* agents.listOwned(userId)
          if (!owned.some(({ status }) => needsCell(status))) return yield* lower(userId, "stopped")
          yield* contents.configure(
            { instance: cell.value, token: yield* instances.ensureRuntimeToken(userId) },
            owned.filter(({ status }) => isUp(status))
          )
        })
      )
    })

    /** The cell as it should be: adopted when it is up, else started; its agents as the rows say. */
    const revive = Effect.fn("InstanceReconciler.revive")(
      function* (userId: UserId) {
        return yield* instances.serialized(
          userId,
          Effect.gen(function* () {
            const instance = yield* instanceOf(userId)
            if (instance.desired === "down")
              return yield* new InstanceUnavailable({ reason: "the instance is stopped" })
            if (instance.status === "error")
              return yield* new InstanceUnavailable({ reason: "the instance has failed" })
            const owned = yield* agents.listOwned(userId)
            const members = owned.filter(({ status }) => isUp(status))
            if (members.length === 0) {
              // An agent that is being provisioned is brought up by its job.
              if (!owned.some(({ status }) => needsCell(status))) yield* lower(userId, "stopped")
              return yield* new InstanceUnavailable({ reason: "no agent of the instance is up" })
            }
            const access = yield* bringUp(yield* ownerOf(userId))
            yield* contents.configure(access, members)
            yield* instances.update(
              userId,
              upChanges(access.instance, isUp(instance.status) ? instance.status : "active")
            )
            return access
          })
        )
      },
      Effect.catchTag("InstanceNotFound", () => new InstanceUnavailable({ reason: "there is no instance" }))
    )

    const abandon = Effect.fn("InstanceReconciler.abandon")(function* (userId: UserId, reason: string) {
      yield* instances.serialized(
        userId,
        Effect.gen(function* () {
          // While this waited for its turn the owner may have stopped it, or started it with success.
          if (!(yield* shouldBeUp(userId)) || !(yield* Ref.get(deaths)).has(userId)) return
          yield* Effect.logError("A cell is gone for good").pipe(Effect.annotateLogs({ userId, reason }))
          yield* driver.stop(userId)
          const members = (yield* agents.listOwned(userId)).filter(({ status }) => isUp(status))
          yield* record(userId, "cell-lost", members, { status: "error", startedAt: null })
        })
      )
    })

    /** Counts a death and schedules what follows it. */
    const afterCellDeath = Effect.fn("InstanceReconciler.afterCellDeath")(function* (userId: UserId, reason: string) {
      const now = yield* DateTime.now
      const counted = yield* Ref.modify(deaths, (all) => {
        const since = now.epochMillis - Duration.toMillis(crashWindow)
        const recent = [...(all.get(userId) ?? []).filter((at) => at > since), now.epochMillis]
        return [recent.length, new Map(all).set(userId, recent)] as const
      })
      const next = decideRestart(counted)
      if (next === "give-up") return yield* abandon(userId, reason)
      yield* Effect.logWarning("A cell died and is restarted").pipe(
        Effect.annotateLogs({ userId, reason, deaths: counted, restartAfter: Duration.format(next.restartAfter) })
      )
      // It should be up, and its agents are; but nobody can say since when.
      yield* instances.update(userId, { startedAt: null })
      yield* FiberMap.run(restarts, userId, Effect.delay(care(userId), next.restartAfter))
    })

    /** After a launch that came to nothing: what should be up is tried again, and what should not leaves nothing behind. */
    const afterFailure = (userId: UserId, reason: string) =>
      Effect.flatMap(shouldBeUp(userId), (wanted) => (wanted ? afterCellDeath(userId, reason) : finishStop(userId)))

    const careLater = (userId: UserId) =>
      Effect.asVoid(FiberMap.run(restarts, userId, Effect.delay(care(userId), careAgain)))

    /** Brings a cell to where its rows say that it should be, and goes on trying. */
    const care = (userId: UserId): Effect.Effect<void> =>
      Effect.flatMap(shouldBeUp(userId), (wanted) =>
        wanted ? Effect.asVoid(revive(userId)) : finishStop(userId)
      ).pipe(
        Effect.catchAll(({ reason }) =>
          Effect.flatMap(shouldBeUp(userId), (wanted) => (wanted ? afterCellDeath(userId, reason) : Effect.void))
        ),
        // A database that was away for a moment must not end the care for a cell.
        Effect.catchAllDefect((defect) =>
          Effect.logError("A cell could not be looked after and is looked at again", defect).pipe(
            Effect.zipRight(careLater(userId))
          )
        )
      )

    const shouldBeUp = (userId: UserId) =>
      Effect.map(
        instances.find(userId),
        Option.exists(({ desired, status }) => desired === "up" && status !== "error")
      )

    const onExit = ({ owner, reason }: InstanceExit) =>
      Effect.flatMap(shouldBeUp(owner), (wanted) => (wanted ? afterCellDeath(owner, reason) : Effect.void))

    yield* Effect.forkScoped(
      Stream.runForEach(driver.exits, (exit) =>
        Effect.catchAllCause(onExit(exit), (cause) =>
          Effect.zipRight(Effect.logError("A cell's death was not handled", cause), careLater(exit.owner))
        )
      )
    )
    // A backend that comes back finds its cells running, or brings them back, and ends those that nobody wants.
    const careForAll = Effect.gen(function* () {
      // Those that should be up first: somebody waits for them.
      const all = [...(yield* instances.listDesired("up")), ...(yield* instances.listDesired("down"))]
      yield* Effect.forEach(all, ({ userId }) => care(userId), { concurrency: 4, discard: true })
    })
    yield* careForAll.pipe(
      Effect.sandbox,
      Effect.tapError((cause) => Effect.logError("Cells could not be brought to where they should be", cause)),
      Effect.retry(Schedule.spaced(careAgain)),
      Effect.unsandbox,
      Effect.forkScoped
    )

    const access = Effect.fn("InstanceReconciler.access")(function* (userId: UserId) {
      const cell = yield* driver.inspect(userId)
      return Option.isSome(cell) && (yield* contents.isConfigured(cell.value))
        ? { instance: cell.value, token: yield* instances.ensureRuntimeToken(userId) }
        : yield* revive(userId)
    })

    /**
     * Passes a turn to the owner's cell, which is brought back first when it is not there, or does not know its agents yet. One
     * that died just now may still be taken for alive; when it never had the turn, the next one gets it.
     */
    const chat = (userId: UserId, turn: Turn) =>
      Stream.unwrap(Effect.map(access(userId), (cell) => runtime.chat(cell, turn))).pipe(
        Stream.catchTag("RuntimeUnreachable", (error) =>
          error.unsent === true
            ? Stream.unwrap(Effect.map(revive(userId), (cell) => runtime.chat(cell, turn)))
            : Stream.fail(error)
        ),
        Stream.mapError((error) =>
          error._tag === "RuntimeUnreachable" ? new InstanceUnavailable({ reason: error.reason }) : error
        ),
        Stream.withSpan("InstanceReconciler.chat", { attributes: { "user.id": userId, "agent.id": turn.agentId } })
      )

    return {
      deploy: (agentId: AgentId) => toTheEnd(deploy(agentId)),
      failDeployment,
      start: (userId: UserId) => toTheEnd(start(userId)),
      stop: (userId: UserId) => toTheEnd(stop(userId)),
      restart: (userId: UserId) => toTheEnd(restart(userId)),
      update: (userId: UserId) => toTheEnd(update(userId)),
      repair: (userId: UserId) => toTheEnd(repair(userId)),
      reconfigure: (userId: UserId) => toTheEnd(reconfigure(userId)),
      chat
    }
  })
}) {}

/** Agents that are up, or are about to be. */
const needsCell = (status: AgentStatus): boolean => isUp(status) || status === "provisioning"

type LaunchEvent = Extract<AgentLifecycleEvent, "started" | "restarted" | "updated" | "repaired">

const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}
