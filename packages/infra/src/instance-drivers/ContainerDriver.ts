import {
  InstanceDriver,
  type InstanceHostUnavailable,
  type InstanceSpec,
  InstanceStartFailed,
  type RunningInstance
} from "@berth/domain/instances/InstanceDriver"
import type { InstanceStats } from "@berth/domain/instances/InstanceStats"
import { type RuntimeLogEntry, type RuntimeLogQuery, selectLogPage } from "@berth/domain/instances/RuntimeLog"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import { Array, DateTime, Effect, Option, Order } from "effect"
import { rm } from "node:fs/promises"
import { stopAll, toHostUnavailable } from "./HostFailure.ts"
import { tryFileOperation } from "./HostFiles.ts"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import type * as OwnerLocks from "@berth/domain/shared/OwnerLocks"

/** Names of an owner's objects on a platform, and its files on this host. */
export interface InstanceNames extends InstanceLogFile.InstanceLogFiles {
  readonly owner: UserId
  readonly directory: string
}

export interface RegisteredInstance {
  readonly instance: RunningInstance
  readonly memoryMb: number
}

export interface Replacement<E> {
  /** Whether to remove all files except the agents' first. */
  readonly fresh: boolean
  readonly accept: (instance: RunningInstance) => Effect.Effect<void, E>
}

type StartFailure = InstanceStartFailed | InstanceHostUnavailable

/** Operations of a container platform (Docker, Kubernetes) on an owner's objects. The driver holds the owner's lock. */
export interface ContainerPlatform<Names extends InstanceNames, Registered extends RegisteredInstance> {
  /** Name of a container or pod in messages. */
  readonly unit: string
  /** None for an id that is not valid in a name. */
  readonly namesOf: (owner: UserId) => Option.Option<Names>
  readonly running: {
    readonly exits: InstanceDriver["Type"]["exits"]
    readonly withOwnerLock: Effect.Effect.Success<typeof OwnerLocks.make>
    readonly list: () => ReadonlyArray<Registered>
    readonly get: (owner: UserId) => Option.Option<Registered>
  }
  /** Adopts a running instance, else starts one. */
  readonly start: (spec: InstanceSpec, names: Names) => Effect.Effect<RunningInstance, StartFailure>
  /** Starts an instance of the newest image, which is kept if accepted. */
  readonly update: <E>(
    spec: InstanceSpec,
    names: Names,
    replacement: Replacement<E>
  ) => Effect.Effect<RunningInstance, StartFailure | E>
  readonly end: (names: Names) => Effect.Effect<unknown, Error>
  readonly removeAll: (names: Names) => Effect.Effect<void, Error>
  readonly removeOtherAgents: (names: Names, kept: ReadonlyArray<AgentId>) => Effect.Effect<void, Error>
  readonly listOwners: Effect.Effect<ReadonlyArray<UserId>, Error>
  readonly listRunning: Effect.Effect<ReadonlyArray<UserId>, Error>
  /** Finds and registers an instance started by an earlier backend or another driver. */
  readonly find: (names: Names) => Effect.Effect<Option.Option<RunningInstance>, Error>
  /** Reads the log of the container; none without a container. */
  readonly readLog: (names: Names) => Effect.Effect<ReadonlyArray<RuntimeLogEntry>, Error>
  readonly readFigures: (
    registered: Registered
  ) => Effect.Effect<Omit<InstanceStats, "memoryLimitBytes" | "startedAt">, Error>
}

/** Figures of an instance whose platform reports none. */
export const unknownFigures = {
  cpuPercent: null,
  memoryBytes: null,
  networkReceivedBytes: null,
  networkSentBytes: null,
  pids: null
}

const byTime: Order.Order<RuntimeLogEntry> = Order.mapInput(DateTime.Order, ({ timestamp }) => timestamp)

/** Driver for a container platform. With `onClose: "leave"` the instances outlive the driver. */
export const make = <Names extends InstanceNames, Registered extends RegisteredInstance>(
  platform: ContainerPlatform<Names, Registered>,
  { onClose }: { readonly onClose: "leave" | "stop" }
) =>
  Effect.gen(function* () {
    const { namesOf, running } = platform

    const withNames = <A, E>(owner: UserId, work: (names: Names) => Effect.Effect<A, E>) =>
      Effect.zipRight(
        Effect.annotateCurrentSpan({ "user.id": owner }),
        Effect.transposeMapOption(namesOf(owner), (names) => running.withOwnerLock(owner, work(names)))
      )

    /** Fails for an id without a name. */
    const requireNames = <A, E>(owner: UserId, work: (names: Names) => Effect.Effect<A, E>) =>
      Effect.flatMap(
        withNames(owner, work),
        Effect.mapError(() => new InstanceStartFailed({ owner, reason: `the owner's id names no ${platform.unit}` }))
      )

    /** No effect for an id without a name. */
    const ignoreUnnamed = (owner: UserId, work: (names: Names) => Effect.Effect<unknown, Error>) =>
      Effect.asVoid(Effect.mapError(withNames(owner, work), toHostUnavailable))

    const start = Effect.fn("InstanceDriver.start")((spec: InstanceSpec) =>
      requireNames(spec.owner, (names) => platform.start(spec, names))
    )
    const update = <E>(
      spec: InstanceSpec,
      { fresh }: { readonly fresh: boolean },
      accept: (instance: RunningInstance) => Effect.Effect<void, E>
    ) =>
      Effect.withSpan(
        requireNames(spec.owner, (names) => platform.update(spec, names, { fresh, accept })),
        "InstanceDriver.update"
      )
    const stop = Effect.fn("InstanceDriver.stop")((owner: UserId) => ignoreUnnamed(owner, platform.end))
    const remove = Effect.fn("InstanceDriver.remove")((owner: UserId) =>
      ignoreUnnamed(owner, (names) =>
        Effect.gen(function* () {
          yield* platform.end(names)
          yield* platform.removeAll(names)
          yield* tryFileOperation(`removing ${names.directory}`, () =>
            rm(names.directory, { recursive: true, force: true })
          )
        })
      )
    )
    const removeOtherAgents = Effect.fn("InstanceDriver.removeOtherAgents")(
      (owner: UserId, kept: ReadonlyArray<AgentId>) =>
        ignoreUnnamed(owner, (names) => platform.removeOtherAgents(names, kept))
    )

    /** Called before every turn, so a registered instance requires no call to the platform. */
    const inspect = Effect.fn("InstanceDriver.inspect")((owner: UserId) =>
      Option.match(running.get(owner), {
        onSome: ({ instance }) => Effect.succeedSome(instance),
        onNone: () =>
          Effect.mapError(
            Effect.map(
              withNames(owner, (names) =>
                Option.match(running.get(owner), {
                  onSome: ({ instance }) => Effect.succeedSome(instance),
                  onNone: () => platform.find(names)
                })
              ),
              Option.flatten
            ),
            toHostUnavailable
          )
      })
    )

    const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: RuntimeLogQuery) {
      const names = namesOf(owner)
      if (Option.isNone(names)) return { entries: [], total: 0 }
      const [host, own] = yield* Effect.mapError(
        Effect.all([InstanceLogFile.readEntries(names.value), platform.readLog(names.value)], { concurrency: 2 }),
        toHostUnavailable
      )
      return selectLogPage(Array.sort([...host, ...own], byTime), query)
    })

    const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
      yield* inspect(owner)
      return yield* Effect.transposeMapOption(running.get(owner), (registered) =>
        Effect.map(Effect.mapError(platform.readFigures(registered), toHostUnavailable), (figures) => ({
          ...figures,
          memoryLimitBytes: registered.memoryMb * 1024 * 1024,
          startedAt: registered.instance.startedAt
        }))
      )
    })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        const owners = running.list().map(({ instance }) => instance.owner)
        return onClose === "leave"
          ? Effect.logInfo("Instances left running").pipe(Effect.annotateLogs({ instances: owners.length }))
          : stopAll(owners, stop)
      })
    )

    return InstanceDriver.of({
      start,
      update,
      stop,
      remove,
      removeOtherAgents,
      listOwners: Effect.mapError(platform.listOwners, toHostUnavailable).pipe(
        Effect.withSpan("InstanceDriver.listOwners")
      ),
      listRunning: Effect.mapError(platform.listRunning, toHostUnavailable).pipe(
        Effect.withSpan("InstanceDriver.listRunning")
      ),
      inspect,
      logs,
      stats,
      exits: running.exits
    })
  })
