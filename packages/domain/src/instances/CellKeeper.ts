import { DateTime, Duration, Effect, Fiber, FiberMap, Option, Ref, Stream } from "effect"
import { type User, type UserId } from "../accounts/User.ts"
import { Users } from "../accounts/Users.ts"
import type { Agent, AgentId } from "../agents/Agent.ts"
import { AgentRoster } from "../agents/AgentRoster.ts"
import { type AgentEvent, isUp } from "../agents/AgentStatus.ts"
import { Allowances } from "../billing/Allowances.ts"
import { ContextWindows } from "../ai/ContextWindows.ts"
import type { PlanFeatures } from "../billing/PlanFeatures.ts"
import { SkillCatalogue } from "../skills/SkillCatalogue.ts"
import { usableSkills } from "../skills/UsableSkills.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { AgentRuntime, type CellAccess, type RuntimeAgent, type Turn } from "./AgentRuntime.ts"
import { BackendAddress } from "./BackendAddress.ts"
import { afterDeath, deathWindow } from "./CellRestart.ts"
import { type Instance } from "./Instance.ts"
import { type Cell, type CellExit, InstanceDriver } from "./InstanceDriver.ts"
import { CellIsUnavailable, InstanceIsUnknown } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { agentsToStart } from "./Revival.ts"

/** After a fault of our own, for example of the database. */
const careAgain = Duration.seconds(5)

/**
 * The backend's keeper of the cells: makes each cell what its rows say it should be, restarts cells that die, and passes
 * turns on to them. Everything it knows is in the rows and the cells themselves, so another backend can take over.
 */
export class CellKeeper extends Effect.Service<CellKeeper>()("@berth/CellKeeper", {
  scoped: Effect.gen(function* () {
    const agents = yield* AgentRoster
    const instances = yield* InstanceRepository
    const users = yield* Users
    const allowances = yield* Allowances
    const driver = yield* InstanceDriver
    const runtime = yield* AgentRuntime
    const transaction = yield* Transaction
    const backendUrl = yield* BackendAddress
    const skills = yield* SkillCatalogue
    const windows = yield* ContextWindows
    const scope = yield* Effect.scope
    const restarts = yield* FiberMap.make<UserId>()
    const deaths = yield* Ref.make<ReadonlyMap<UserId, ReadonlyArray<number>>>(new Map())
    /** When the cell was started that this backend has told of its agents; one that is up need not know them yet. */
    const toldCells = yield* Ref.make<ReadonlyMap<UserId, number>>(new Map())

    /** What was begun is finished, also when whoever asked for it has left. */
    const toTheEnd = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Effect.forkIn(Effect.interruptible(effect), scope), Fiber.join)

    const ownerOf = (userId: UserId) => Effect.mapError(users.find(userId), () => new InstanceIsUnknown())
    const instanceOf = (userId: UserId) =>
      Effect.flatMap(
        instances.find(userId),
        Effect.mapError(() => new InstanceIsUnknown())
      )

    const bringUp = Effect.fn("CellKeeper.bringUp")(
      function* (owner: User) {
        const { memoryMb } = yield* allowances.of(owner)
        const token = yield* instances.cellToken(owner.id)
        const cell = yield* driver.start({ owner: owner.id, memoryMb, token, backendUrl })
        return { cell, token } satisfies CellAccess
      },
      Effect.mapError(({ reason }) => new CellIsUnavailable({ reason }))
    )

    const toRuntimeAgent =
      (features: PlanFeatures) =>
      (agent: Agent): Effect.Effect<RuntimeAgent> => {
        const model = agent.customModel ?? agent.model
        return Effect.map(windows.of(model, agent.ownerId), (contextWindow) => ({
          id: agent.id,
          name: agent.name,
          model,
          contextWindow,
          systemPrompt: agent.config.systemPrompt,
          temperature: agent.config.temperature,
          maxTokens: agent.config.maxTokens,
          timezone: agent.config.timezone,
          skills: usableSkills(skills, features, agent.config.skills)
        }))
      }

    /** What the owner's plan has now, which may be less than what his agents were given once. */
    const featuresOf = (userId: UserId) =>
      ownerOf(userId).pipe(
        Effect.flatMap(allowances.of),
        Effect.mapBoth({
          onSuccess: ({ features }) => features,
          onFailure: () => new CellIsUnavailable({ reason: "its owner is gone" })
        })
      )

    const configure = (access: CellAccess, members: ReadonlyArray<Agent>) =>
      featuresOf(access.cell.owner).pipe(
        Effect.flatMap((features) => Effect.forEach(members, toRuntimeAgent(features))),
        Effect.flatMap((known) => runtime.configure(access, known)),
        Effect.mapError(({ reason }) => new CellIsUnavailable({ reason })),
        Effect.zipRight(
          Ref.update(toldCells, (all) => new Map(all).set(access.cell.owner, access.cell.startedAt.epochMillis))
        )
      )

    /** Moves agents and the instance's row in one transaction. */
    const record = (
      userId: UserId,
      event: AgentEvent,
      members: ReadonlyArray<Agent>,
      changes: Parameters<InstanceRepository["Type"]["update"]>[1]
    ) => transaction.run(Effect.zipRight(agents.tellAll(members, event), instances.update(userId, changes)))

    const upChanges = (cell: Cell, status: Instance["status"]) =>
      ({ desired: "up", status, startedAt: cell.startedAt, runtimeVersion: cell.runtimeVersion }) as const

    const deploy = Effect.fn("CellKeeper.deploy")(function* (agentId: AgentId) {
      const found = yield* agents.find(agentId)
      // Deleted or stopped meanwhile, or done by an earlier attempt: nothing to do.
      if (Option.isNone(found) || found.value.status !== "provisioning") return
      const userId = found.value.ownerId
      yield* Effect.annotateCurrentSpan({ "agent.id": agentId, "user.id": userId })
      yield* instances
        .serialised(
          userId,
          Effect.gen(function* () {
            const members = yield* agents.listOwned(userId)
            // While this waited for its turn the owner may have stopped or removed it; that is not undone.
            if (!members.some(({ id, status }) => id === agentId && status === "provisioning")) return
            const owner = yield* ownerOf(userId)
            const access = yield* bringUp(owner)
            yield* configure(
              access,
              members.filter(({ id, status }) => isUp(status) || id === agentId)
            )
            const instance = yield* instanceOf(userId)
            yield* record(
              userId,
              "deployed",
              members.filter(({ id }) => id === agentId),
              upChanges(access.cell, isUp(instance.status) ? instance.status : "running")
            )
            yield* Effect.logInfo("An agent is running").pipe(Effect.annotateLogs({ agentId, userId }))
          })
        )
        .pipe(Effect.catchTag("InstanceIsUnknown", () => Effect.void))
    })

    const giveUp = Effect.fn("CellKeeper.giveUp")(function* (agentId: AgentId, reason: string) {
      const found = yield* agents.find(agentId)
      if (Option.isNone(found)) return
      yield* instances.serialised(
        found.value.ownerId,
        Effect.gen(function* () {
          // A deployment that was in work just now may have succeeded.
          const agent = yield* agents.find(agentId)
          if (Option.isNone(agent) || agent.value.status !== "provisioning") return
          yield* agents.tell(agent.value, "deployment-failed")
          yield* Effect.logError("An agent could not be provisioned").pipe(Effect.annotateLogs({ agentId, reason }))
        })
      )
    })

    /** Brings the instance up with every agent it may have, after what has to go first. */
    const launch = (userId: UserId, event: LaunchEvent) =>
      Effect.gen(function* () {
        yield* instanceOf(userId)
        const owner = yield* ownerOf(userId)
        const allowance = yield* allowances.of(owner)
        yield* clearing[event](userId)
        const access = yield* bringUp(owner)
        const { leave, start } = agentsToStart(yield* agents.listOwned(userId), allowance.agents)
        if (leave.length > 0)
          yield* Effect.logWarning("Agents over the plan's limit stay as they are").pipe(
            Effect.annotateLogs({ userId, agentIds: leave })
          )
        const { healings, members } = yield* agents.heal(start)
        yield* configure(access, members)
        yield* record(userId, event, members, upChanges(access.cell, event === "updated" ? "running" : "active"))
        yield* Ref.update(deaths, (all) => without(all, userId))
        return { runtimeVersion: access.cell.runtimeVersion, healings }
      })

    const clearing: Record<LaunchEvent, (userId: UserId) => Effect.Effect<void>> = {
      started: () => Effect.void,
      restarted: driver.stop,
      updated: driver.stop,
      repaired: driver.remove
    }

    /** One launch at a time, and none that was only going to be tried again. */
    const relaunch = (userId: UserId, event: LaunchEvent) =>
      Effect.zipRight(FiberMap.remove(restarts, userId), instances.serialised(userId, launch(userId, event)))

    const start = Effect.fn("CellKeeper.start")((userId: UserId) => Effect.asVoid(relaunch(userId, "started")))
    const restart = Effect.fn("CellKeeper.restart")((userId: UserId) => relaunch(userId, "restarted"))
    const update = Effect.fn("CellKeeper.update")((userId: UserId) => Effect.asVoid(relaunch(userId, "updated")))
    const repair = Effect.fn("CellKeeper.repair")((userId: UserId) => Effect.asVoid(relaunch(userId, "repaired")))

    /** No cell any more, and the rows say so. The caller holds the owner's turn. */
    const putDown = Effect.fnUntraced(function* (userId: UserId) {
      yield* driver.stop(userId)
      yield* record(userId, "stopped", yield* agents.listOwned(userId), { status: "stopped" })
    })

    const stop = Effect.fn("CellKeeper.stop")(function* (userId: UserId) {
      yield* FiberMap.remove(restarts, userId)
      yield* instances.serialised(
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
    const finishStop = Effect.fn("CellKeeper.finishStop")(function* (userId: UserId) {
      yield* instances.serialised(
        userId,
        Effect.flatMap(
          instances.find(userId),
          Option.match({
            onNone: () => Effect.void,
            onSome: ({ desired, status }) => {
              // A first agent's deployment belongs to its job, which comes again.
              if (desired === "up" || status === "provisioning") return Effect.void
              return status === "stopped" ? driver.stop(userId) : putDown(userId)
            }
          })
        )
      )
    })

    const reconfigure = Effect.fn("CellKeeper.reconfigure")(function* (userId: UserId) {
      yield* instances.serialised(
        userId,
        Effect.gen(function* () {
          const cell = yield* driver.inspect(userId)
          if (Option.isNone(cell)) return
          const members = (yield* agents.listOwned(userId)).filter(({ status }) => isUp(status))
          if (members.length === 0) {
            yield* instances.update(userId, { desired: "down" })
            return yield* putDown(userId)
          }
          yield* configure({ cell: cell.value, token: yield* instances.cellToken(userId) }, members)
        })
      )
    })

    /** The cell as it should be: adopted when it is up, else started; its agents as the rows say. */
    const revive = Effect.fn("CellKeeper.revive")(
      function* (userId: UserId) {
        return yield* instances.serialised(
          userId,
          Effect.gen(function* () {
            const instance = yield* instanceOf(userId)
            if (instance.desired === "down") return yield* new CellIsUnavailable({ reason: "the instance is stopped" })
            const access = yield* bringUp(yield* ownerOf(userId))
            yield* configure(
              access,
              (yield* agents.listOwned(userId)).filter(({ status }) => isUp(status))
            )
            yield* instances.update(userId, upChanges(access.cell, isUp(instance.status) ? instance.status : "active"))
            return access
          })
        )
      },
      Effect.catchTag("InstanceIsUnknown", () => new CellIsUnavailable({ reason: "there is no instance" }))
    )

    const abandon = Effect.fn("CellKeeper.abandon")(function* (userId: UserId, reason: string) {
      yield* Effect.logError("A cell is gone for good").pipe(Effect.annotateLogs({ userId, reason }))
      const members = (yield* agents.listOwned(userId)).filter(({ status }) => isUp(status))
      yield* record(userId, "cell-lost", members, { status: "error" })
    })

    /** Counts a death and schedules what follows it. */
    const afterCellDeath = Effect.fn("CellKeeper.afterCellDeath")(function* (userId: UserId, reason: string) {
      const now = yield* DateTime.now
      const counted = yield* Ref.modify(deaths, (all) => {
        const since = now.epochMillis - Duration.toMillis(deathWindow)
        const recent = [...(all.get(userId) ?? []).filter((at) => at > since), now.epochMillis]
        return [recent.length, new Map(all).set(userId, recent)] as const
      })
      const next = afterDeath(counted)
      if (next === "give-up") return yield* abandon(userId, reason)
      yield* Effect.logWarning("A cell died and is restarted").pipe(
        Effect.annotateLogs({ userId, reason, deaths: counted, restartAfter: Duration.format(next.restartAfter) })
      )
      yield* FiberMap.run(restarts, userId, Effect.delay(tryRevive(userId), next.restartAfter))
    })

    const tryRevive = (userId: UserId): Effect.Effect<void> =>
      Effect.catchAll(revive(userId), ({ reason }) =>
        Effect.flatMap(shouldBeUp(userId), (wanted) => (wanted ? afterCellDeath(userId, reason) : Effect.void))
      ).pipe(
        Effect.asVoid,
        // A database that was away for a moment must not end the care for a cell.
        Effect.catchAllDefect((defect) =>
          Effect.logError("A cell could not be looked after and is looked at again", defect).pipe(
            Effect.zipRight(FiberMap.run(restarts, userId, Effect.delay(tryRevive(userId), careAgain))),
            Effect.asVoid
          )
        )
      )

    const shouldBeUp = (userId: UserId) =>
      Effect.map(
        instances.find(userId),
        Option.exists(({ desired, status }) => desired === "up" && status !== "error")
      )

    const onExit = ({ owner, reason }: CellExit) =>
      Effect.flatMap(shouldBeUp(owner), (wanted) => (wanted ? afterCellDeath(owner, reason) : Effect.void))

    yield* Effect.forkScoped(
      Stream.runForEach(driver.exits, (exit) =>
        Effect.catchAllCause(onExit(exit), (cause) => Effect.logError("A cell's death was not handled", cause))
      )
    )
    // A backend that comes back finds its cells running, or brings them back, and ends those that nobody wants.
    yield* Effect.forkScoped(
      Effect.gen(function* () {
        const wanted = (yield* instances.listDesired("up")).filter(({ status }) => status !== "error")
        yield* Effect.forEach(wanted, ({ userId }) => tryRevive(userId), { concurrency: 4, discard: true })
        const unwanted = (yield* instances.listDesired("down")).filter(({ status }) => status !== "provisioning")
        yield* Effect.forEach(unwanted, ({ userId }) => finishStop(userId), { concurrency: 4, discard: true })
      }).pipe(
        Effect.catchAllCause((cause) => Effect.logError("Cells could not be brought to where they should be", cause))
      )
    )

    const access = Effect.fn("CellKeeper.access")(function* (userId: UserId) {
      const cell = yield* driver.inspect(userId)
      const told = (yield* Ref.get(toldCells)).get(userId)
      return Option.isSome(cell) && cell.value.startedAt.epochMillis === told
        ? { cell: cell.value, token: yield* instances.cellToken(userId) }
        : yield* revive(userId)
    })

    /** Passes a turn to the owner's cell, which is brought back first when it is not there, or does not know its agents yet. */
    const chat = (userId: UserId, turn: Turn) =>
      Stream.unwrap(Effect.map(access(userId), (cell) => runtime.chat(cell, turn))).pipe(
        Stream.mapError((error) =>
          error._tag === "RuntimeIsUnreachable" ? new CellIsUnavailable({ reason: error.reason }) : error
        ),
        Stream.withSpan("CellKeeper.chat", { attributes: { "user.id": userId, "agent.id": turn.agentId } })
      )

    return {
      deploy: (agentId: AgentId) => toTheEnd(deploy(agentId)),
      giveUp,
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

type LaunchEvent = Extract<AgentEvent, "started" | "restarted" | "updated" | "repaired">

const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}
