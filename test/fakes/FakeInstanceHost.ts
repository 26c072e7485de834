import { AgentRuntime, RuntimeUnreachable, type TurnEvent } from "@berth/domain/instances/AgentRuntime"
import {
  type RunningInstance,
  InstanceStartFailed,
  type InstanceExit,
  type InstanceSpec,
  InstanceDriver
} from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, PubSub, Stream } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"

/** A cell that is only written down. */
interface FakeInstance {
  readonly cell: RunningInstance
  readonly version: string
  /** What it was told its agents are; null while it has heard of none. */
  readonly agents: ReadonlyArray<AgentId> | null
}

/** What happens at a step of a host; most often nothing. */
export type HostStep = (name: string) => Effect.Effect<void>

/**
 * The cells of a host in memory. Several drivers, one a backend, may keep them one after the other, as backends that die and
 * come back do.
 */
export class FakeInstanceHost {
  readonly instances = new Map<UserId, FakeInstance>()
  readonly storedVersions = new Map<UserId, string>()
  latestVersion = "1"
  /** Why a version does not come up, or does not take its agents; it does when there is no reason. */
  startFailure: (owner: UserId, version: string) => string | undefined = () => undefined
  configureFailure: (owner: UserId, version: string) => string | undefined = () => undefined
  private started = 0
  private readonly exits = Effect.runSync(PubSub.unbounded<InstanceExit>())

  /** Those whose cell died a moment ago: its driver has not noticed yet, and takes it for alive. */
  readonly undetectedCrashes = new Set<UserId>()
  /** The messages that cells got, in order. */
  readonly receivedMessages: Array<{ readonly owner: UserId; readonly startedAt: number; readonly message: string }> =
    []
  /** Whether a connection to a cell breaks once a turn was sent over it. */
  breaksConnections = false

  /** A cell that dies by itself. */
  crash(owner: UserId, reason = "killed") {
    return Effect.suspend(() => {
      this.instances.delete(owner)
      return PubSub.publish(this.exits, { owner, reason })
    })
  }

  private startInstance(owner: UserId, version: string) {
    return Effect.gen(this, function* () {
      const reason = this.startFailure(owner, version)
      if (reason !== undefined) return yield* new InstanceStartFailed({ owner, reason })
      this.started += 1
      const startedAt = DateTime.unsafeMake(this.started)
      const cell: RunningInstance = { owner, endpoint: `cell:${owner}`, startedAt, runtimeVersion: version }
      this.instances.set(owner, { cell, version, agents: null })
      return cell
    })
  }

  driver(step: HostStep) {
    const end = (owner: UserId) => Effect.sync(() => this.instances.delete(owner))
    return InstanceDriver.of({
      start: ({ owner }: InstanceSpec) =>
        Effect.gen(this, function* () {
          yield* step("a cell is to be started")
          const there = this.instances.get(owner)
          if (there !== undefined && !this.undetectedCrashes.delete(owner)) return there.cell
          const version = this.storedVersions.get(owner) ?? this.latestVersion
          const cell = yield* this.startInstance(owner, version)
          yield* step("a cell was started")
          this.storedVersions.set(owner, version)
          return cell
        }),
      update: ({ owner }, _options, accept) =>
        Effect.gen(this, function* () {
          yield* step("a cell is to be replaced")
          yield* end(owner)
          yield* step("a cell was ended to be replaced")
          const cell = yield* this.startInstance(owner, this.latestVersion)
          yield* step("a cell of the new version was started")
          yield* Effect.onError(accept(cell), () => end(owner))
          yield* step("a cell of the new version was accepted")
          this.storedVersions.set(owner, this.latestVersion)
          return cell
        }),
      stop: (owner) =>
        Effect.zipRight(step("a cell is to be ended"), end(owner)).pipe(Effect.zipRight(step("a cell was ended"))),
      remove: (owner) =>
        step("a cell is to be removed").pipe(
          Effect.zipRight(end(owner)),
          Effect.zipRight(step("a cell was ended to be removed")),
          Effect.zipRight(Effect.sync(() => this.storedVersions.delete(owner))),
          Effect.zipRight(step("a cell was removed"))
        ),
      listOwners: Effect.sync(() => [...new Set([...this.instances.keys(), ...this.storedVersions.keys()])]),
      inspect: (owner) =>
        Effect.sync(() => Option.map(Option.fromNullable(this.instances.get(owner)), ({ cell }) => cell)),
      logs: () => Effect.succeed({ entries: [], total: 0 }),
      stats: () => Effect.succeedNone,
      exits: Stream.fromPubSub(this.exits)
    })
  }

  runtime(step: HostStep) {
    return AgentRuntime.of({
      configure: ({ instance: { owner } }, agents) =>
        Effect.gen(this, function* () {
          yield* step("a cell is to be told of its agents")
          const there = this.instances.get(owner)
          if (there === undefined) return yield* new RuntimeUnreachable({ reason: "there is no cell" })
          const reason = this.configureFailure(owner, there.version)
          if (reason !== undefined) return yield* new RuntimeUnreachable({ reason })
          this.instances.set(owner, { ...there, agents: agents.map(({ id }) => id) })
          yield* step("a cell was told of its agents")
        }),
      chat: ({ instance: { owner, startedAt } }, { message }) =>
        Stream.suspend(() => {
          if (this.undetectedCrashes.has(owner))
            return Stream.fail(new RuntimeUnreachable({ reason: "refused", unsent: true }))
          this.receivedMessages.push({ owner, startedAt: startedAt.epochMillis, message })
          return this.breaksConnections
            ? Stream.fail(new RuntimeUnreachable({ reason: "it broke off" }))
            : Stream.make<[TurnEvent]>({ type: "done", reply: `You said: ${message}`, model: "m" })
        })
    })
  }
}
