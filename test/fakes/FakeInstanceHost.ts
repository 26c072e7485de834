import { makeSingleChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { AgentRuntime, RuntimeUnreachable, type TurnEvent } from "@berth/domain/instances/AgentRuntime"
import {
  type RunningInstance,
  InstanceHostUnavailable,
  InstanceStartFailed,
  type InstanceExit,
  type InstanceSpec,
  InstanceDriver
} from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, PubSub, Stream } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"

interface FakeInstance {
  readonly instance: RunningInstance
  readonly version: string
  /** Null before the first configuration. */
  readonly agents: ReadonlyArray<AgentId> | null
}

/** Runs at each step of a host. */
type HostStep = (name: string) => Effect.Effect<void>

/** Instances of a host in memory. Drivers can manage them in succession, as restarted backends do. */
export class FakeInstanceHost {
  readonly instances = new Map<UserId, FakeInstance>()
  /** The agents with files, by owner. */
  readonly agentFiles = new Map<UserId, ReadonlyArray<AgentId>>()
  readonly storedVersions = new Map<UserId, string>()
  latestVersion = "1"
  /** The failure of a start or a configuration by version; undefined is success. */
  startFailure: (owner: UserId, version: string) => string | undefined = () => undefined
  configureFailure: (owner: UserId, version: string) => string | undefined = () => undefined
  /** True if the host does not respond. */
  isDown = false
  /** Calls of `listRunning`. */
  listings = 0
  private started = 0
  private readonly exits = Effect.runSync(PubSub.unbounded<InstanceExit>())

  /** Owners whose instance has crashed undetected: the driver still reports it as running. */
  readonly undetectedCrashes = new Set<UserId>()
  readonly receivedMessages: Array<{ readonly owner: UserId; readonly startedAt: number; readonly message: string }> =
    []
  /** Breaks the connection after a turn was sent over it. */
  breaksConnections = false

  /** An unrequested exit. */
  crash(owner: UserId, reason = "killed") {
    return Effect.suspend(() => {
      this.instances.delete(owner)
      return PubSub.publish(this.exits, { owner, reason })
    })
  }

  private readonly answers = Effect.suspend(() =>
    this.isDown ? new InstanceHostUnavailable({ reason: "the host is down" }) : Effect.void
  )

  private startInstance(owner: UserId, version: string) {
    return Effect.gen(this, function* () {
      yield* this.answers
      const reason = this.startFailure(owner, version)
      if (reason !== undefined) return yield* new InstanceStartFailed({ owner, reason })
      this.started += 1
      const startedAt = DateTime.unsafeMake(this.started)
      const instance: RunningInstance = { owner, endpoint: `instance:${owner}`, startedAt, runtimeVersion: version }
      this.instances.set(owner, { instance, version, agents: null })
      return instance
    })
  }

  driver(step: HostStep) {
    const end = (owner: UserId) =>
      Effect.zipRight(
        this.answers,
        Effect.sync(() => this.instances.delete(owner))
      )
    return InstanceDriver.of({
      start: ({ owner }: InstanceSpec) =>
        Effect.gen(this, function* () {
          yield* step("an instance is to be started")
          yield* this.answers
          const there = this.instances.get(owner)
          if (there !== undefined && !this.undetectedCrashes.delete(owner)) return there.instance
          const version = this.storedVersions.get(owner) ?? this.latestVersion
          const instance = yield* this.startInstance(owner, version)
          yield* step("an instance was started")
          this.storedVersions.set(owner, version)
          return instance
        }),
      update: ({ owner }, _options, accept) =>
        Effect.gen(this, function* () {
          yield* step("an instance is to be replaced")
          yield* end(owner)
          yield* step("an instance was ended to be replaced")
          const instance = yield* this.startInstance(owner, this.latestVersion)
          yield* step("an instance of the new version was started")
          yield* Effect.onError(accept(instance), () => Effect.ignore(end(owner)))
          yield* step("an instance of the new version was accepted")
          this.storedVersions.set(owner, this.latestVersion)
          return instance
        }),
      stop: (owner) =>
        Effect.zipRight(step("an instance is to be ended"), end(owner)).pipe(
          Effect.zipRight(step("an instance was ended"))
        ),
      remove: (owner) =>
        step("an instance is to be removed").pipe(
          Effect.zipRight(end(owner)),
          Effect.zipRight(step("an instance was ended to be removed")),
          Effect.zipRight(Effect.sync(() => this.storedVersions.delete(owner))),
          Effect.zipRight(step("an instance was removed"))
        ),
      removeOtherAgents: (owner, kept) =>
        Effect.zipRight(
          Effect.zipRight(step("files of deleted agents are to be removed"), this.answers),
          Effect.sync(() =>
            this.agentFiles.set(
              owner,
              (this.agentFiles.get(owner) ?? []).filter((id) => kept.includes(id))
            )
          )
        ),
      listOwners: Effect.map(this.answers, () => [
        ...new Set([...this.instances.keys(), ...this.storedVersions.keys()])
      ]),
      listRunning: Effect.map(this.answers, () => {
        this.listings += 1
        return [...this.instances.keys()]
      }),
      inspect: (owner) =>
        Effect.map(this.answers, () =>
          Option.map(Option.fromNullable(this.instances.get(owner)), ({ instance }) => instance)
        ),
      logs: () => Effect.as(this.answers, { entries: [], total: 0 }),
      stats: () => Effect.as(this.answers, Option.none()),
      exits: Stream.fromPubSub(this.exits)
    })
  }

  runtime(step: HostStep) {
    return AgentRuntime.of({
      configure: ({ instance: { owner } }, agents) =>
        Effect.gen(this, function* () {
          yield* step("before an instance is configured")
          const there = this.instances.get(owner)
          if (there === undefined) return yield* new RuntimeUnreachable({ reason: "there is no instance" })
          const reason = this.configureFailure(owner, there.version)
          if (reason !== undefined) return yield* new RuntimeUnreachable({ reason })
          this.instances.set(owner, { ...there, agents: agents.map(({ id }) => id) })
          yield* step("after an instance was configured")
        }),
      measureStorage: () => Effect.succeedNone,
      chat: ({ instance: { owner, startedAt } }, { message }) =>
        Effect.suspend(() => {
          if (this.undetectedCrashes.has(owner)) return new RuntimeUnreachable({ reason: "refused", unsent: true })
          this.receivedMessages.push({ owner, startedAt: startedAt.epochMillis, message })
          return this.breaksConnections
            ? new RuntimeUnreachable({ reason: "the connection broke" })
            : Effect.succeed(
                makeSingleChunkSource<TurnEvent>([{ type: "done", reply: `You said: ${message}`, model: "m" }])
              )
        })
    })
  }
}
