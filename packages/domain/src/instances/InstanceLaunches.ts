import { Effect, Option } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { PlanLimitReached } from "../agents/AgentErrors.ts"
import type { AgentId } from "../shared/AgentId.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { type AgentLifecycleEvent, isUp } from "../agents/AgentStatus.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import type { User } from "../shared/User.ts"
import type { UserId } from "../shared/UserId.ts"
import type { RuntimeAccess } from "./AgentRuntime.ts"
import { CrashHistory } from "./CrashHistory.ts"
import { InstanceContents } from "./InstanceContents.ts"
import { InstanceDriver, type InstanceStartFailed } from "./InstanceDriver.ts"
import { InstanceUnavailable } from "./InstanceErrors.ts"
import { InstanceRecords, makeUpChanges, needsInstance } from "./InstanceRecords.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { InstanceShutdown } from "./InstanceShutdown.ts"
import { selectAgentsToStart } from "./StartSelection.ts"

export type LaunchEvent = Extract<AgentLifecycleEvent, "started" | "restarted" | "updated" | "repaired">

const toUnavailable = ({ reason }: InstanceStartFailed) => new InstanceUnavailable({ reason })

/** Starts instances with their agents and records it; one launch per owner at a time. */
export class InstanceLaunches extends Effect.Service<InstanceLaunches>()("@berth/InstanceLaunches", {
  dependencies: [InstanceRecords.Default, InstanceShutdown.Default, CrashHistory.Default],
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const instances = yield* InstanceRepository
    const allowances = yield* Allowances
    const driver = yield* InstanceDriver
    const contents = yield* InstanceContents
    const records = yield* InstanceRecords
    const shutdown = yield* InstanceShutdown
    const crashes = yield* CrashHistory

    /** The caller holds the owner's lock, so no agent with files is added concurrently. */
    const removeDeletedAgents = (userId: UserId, owned: ReadonlyArray<Agent>) =>
      driver.removeOtherAgents(
        userId,
        owned.map(({ id }) => id)
      )

    /** Starts or adopts the instance and configures it with these agents of the owner. */
    const bringUp = Effect.fn("InstanceLaunches.bringUp")(function* (
      owner: User,
      owned: ReadonlyArray<Agent>,
      members: ReadonlyArray<Agent>
    ) {
      const spec = yield* contents.makeSpec(owner)
      const start = removeDeletedAgents(owner.id, owned).pipe(
        Effect.zipRight(driver.start(spec)),
        Effect.catchTag("InstanceStartFailed", toUnavailable)
      )
      const [instance, described] = yield* Effect.all([start, contents.describe(owner, members)], { concurrency: 2 })
      const access: RuntimeAccess = { instance, token: spec.token }
      yield* contents.send(access, described)
      return access
    })

    const deployLocked = Effect.fnUntraced(function* (userId: UserId, agentId: AgentId) {
      const owned = yield* agents.listOwned(userId)
      // Read again under the lock, since the owner may have stopped or deleted the agent.
      const agent = owned.find(({ id, status }) => id === agentId && status === "provisioning")
      if (agent === undefined) return
      if (yield* records.isSuspended(userId)) return yield* deployAsleep(userId, agent)
      yield* bringUpWith(yield* records.requireOwner(userId), owned, agent)
    })

    /** Deploys the agent of a suspended account; the first message after the suspension starts the instance. */
    const deployAsleep = Effect.fnUntraced(function* (userId: UserId, agent: Agent) {
      const { status } = yield* records.require(userId)
      yield* records.record(userId, "deployed", [agent], {
        desired: "asleep",
        status: isUp(status) ? status : "running",
        startedAt: null
      })
    })

    /** Starts the instance with its running agents and this agent. */
    const bringUpWith = Effect.fnUntraced(function* (owner: User, owned: ReadonlyArray<Agent>, agent: Agent) {
      const access = yield* bringUp(
        owner,
        owned,
        owned.filter(({ id, status }) => isUp(status) || id === agent.id)
      )
      const isNew = agent.status === "provisioning"
      const { status } = yield* records.require(owner.id)
      yield* records.record(
        owner.id,
        isNew ? "deployed" : "started",
        [agent],
        makeUpChanges(access.instance, isUp(status) ? status : isNew ? "running" : "active")
      )
      yield* Effect.logInfo(isNew ? "Agent provisioned" : "Agent started").pipe(
        Effect.annotateLogs({ agentId: agent.id, userId: owner.id })
      )
    })

    const deploy = Effect.fn("InstanceLaunches.deploy")(function* (agentId: AgentId) {
      const agent = yield* agents.find(agentId)
      // Idempotent: the agent is deleted, stopped or already deployed.
      if (Option.isNone(agent) || agent.value.status !== "provisioning") return
      const userId = agent.value.ownerId
      yield* Effect.annotateCurrentSpan({ "agent.id": agentId, "user.id": userId })
      yield* instances
        .serialized(userId, deployLocked(userId, agentId))
        .pipe(Effect.catchTag("InstanceNotFound", () => Effect.void))
    })

    const activateLocked = Effect.fnUntraced(function* (userId: UserId, agentId: AgentId) {
      const owned = yield* agents.listOwned(userId)
      const agent = owned.find(({ id }) => id === agentId)
      if (agent === undefined || isUp(agent.status)) return false
      const owner = yield* records.requireOwner(userId)
      const { agents: limit } = yield* allowances.find(owner)
      const current = owned.filter((agent) => agent.id !== agentId && needsInstance(agent)).length
      if (current >= limit) return yield* new PlanLimitReached({ current, limit })
      yield* bringUpWith(owner, owned, agent)
      yield* crashes.clear(userId)
      return true
    })

    /** Starts one agent of any status without changing the other agents. False if it was running or is deleted. */
    const activate = Effect.fn("InstanceLaunches.activate")(
      function* (agentId: AgentId) {
        const agent = yield* agents.find(agentId)
        if (Option.isNone(agent)) return false
        const userId = agent.value.ownerId
        yield* Effect.annotateCurrentSpan({ "agent.id": agentId, "user.id": userId })
        return yield* instances.serialized(userId, activateLocked(userId, agentId))
      },
      Effect.catchTag("InstanceNotFound", () => new InstanceUnavailable({ reason: "there is no instance" }))
    )

    const startWith = Effect.fnUntraced(function* (
      owner: User,
      event: LaunchEvent,
      owned: ReadonlyArray<Agent>,
      members: ReadonlyArray<Agent>
    ) {
      if (event === "started" || event === "restarted") {
        if (event === "restarted") yield* driver.stop(owner.id)
        return (yield* bringUp(owner, owned, members)).instance
      }
      const spec = yield* contents.makeSpec(owner)
      // A new version is accepted only if it accepts its configuration.
      return yield* driver
        .update(spec, { fresh: event === "repaired" }, (instance) =>
          contents.configure({ instance, token: spec.token }, members)
        )
        .pipe(Effect.catchTag("InstanceStartFailed", toUnavailable))
    })

    /** Starts the instance with every agent that the plan allows. */
    const launch = Effect.fnUntraced(function* (userId: UserId, event: LaunchEvent) {
      yield* records.require(userId)
      const owner = yield* records.requireOwner(userId)
      const allowance = yield* allowances.find(owner)
      const owned = yield* agents.listOwned(userId)
      const { leave, start } = selectAgentsToStart(owned, allowance.agents)
      if (leave.length > 0)
        yield* Effect.logWarning("Agents over the plan's limit not started").pipe(
          Effect.annotateLogs({ userId, agentIds: leave })
        )
      const { healings, members } = yield* agents.replaceRetiredModels(start)
      const instance = yield* startWith(owner, event, owned, members)
      yield* records.record(userId, event, members, makeUpChanges(instance, event === "updated" ? "running" : "active"))
      yield* crashes.clear(userId)
      return { runtimeVersion: instance.runtimeVersion, healings }
    })

    const reconfigureRunning = Effect.fnUntraced(function* (userId: UserId) {
      if (yield* records.isSuspended(userId)) return yield* shutdown.suspend(userId)
      const running = yield* driver.inspect(userId)
      if (Option.isNone(running)) return
      const owned = yield* agents.listOwned(userId)
      if (!owned.some(needsInstance)) return yield* shutdown.stopUnused(userId, "stopped")
      yield* contents.configure(
        { instance: running.value, token: yield* instances.ensureRuntimeToken(userId) },
        owned.filter(({ status }) => isUp(status))
      )
    })

    /** Applies the stored agents to a running instance, or stops it if no agent needs it. Idempotent. */
    const reconfigure = Effect.fn("InstanceLaunches.reconfigure")((userId: UserId) =>
      // Files last, since a running instance would still write those of a deleted agent.
      instances.serialized(
        userId,
        Effect.zipLeft(
          reconfigureRunning(userId),
          Effect.flatMap(agents.listOwned(userId), (owned) => removeDeletedAgents(userId, owned))
        )
      )
    )

    const reviveLocked = Effect.fnUntraced(function* (userId: UserId) {
      const { desired, status } = yield* records.require(userId)
      if (desired === "down") return yield* new InstanceUnavailable({ reason: "the instance is stopped" })
      if (status === "error") return yield* new InstanceUnavailable({ reason: "the instance has failed" })
      const owned = yield* agents.listOwned(userId)
      const members = owned.filter((agent) => isUp(agent.status))
      if (members.length === 0) {
        // The job of an agent in provisioning starts the instance.
        if (!owned.some(needsInstance)) yield* shutdown.stopUnused(userId, "stopped")
        return yield* new InstanceUnavailable({ reason: "no agent of the instance is up" })
      }
      const access = yield* bringUp(yield* records.requireOwner(userId), owned, members)
      yield* instances.update(userId, makeUpChanges(access.instance, isUp(status) ? status : "active"))
      return access
    })

    /** Adopts a running instance, else starts it, and configures it with the stored agents. */
    const revive = Effect.fn("InstanceLaunches.revive")(
      (userId: UserId) => instances.serialized(userId, reviveLocked(userId)),
      Effect.catchTag("InstanceNotFound", () => new InstanceUnavailable({ reason: "there is no instance" }))
    )

    return {
      activate,
      deploy,
      launch: (userId: UserId, event: LaunchEvent) => instances.serialized(userId, launch(userId, event)),
      reconfigure,
      revive
    }
  })
}) {}
