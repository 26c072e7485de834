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
import { withExportedSpan } from "@berth/domain/shared/SpanExport"
import type { UserId } from "@berth/domain/shared/UserId"
import { Array, DateTime, Effect, Option, Order } from "effect"
import { rm } from "node:fs/promises"
import { stopAll, toHostUnavailable } from "./HostFailure.ts"
import { tryFileOperation } from "./HostFiles.ts"
import { parseLogEntries } from "./LogLines.ts"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import type * as OwnerLocks from "@berth/domain/shared/OwnerLocks"

/** Names of an owner's objects on a platform, and its files on this host. */
export interface InstanceNames extends InstanceLogFile.InstanceLogFiles {
  readonly owner: UserId
  readonly directory: string
}

export interface Replacement<E> {
  /** Whether to remove all files except the agents' first. */
  readonly fresh: boolean
  readonly accept: (instance: RunningInstance) => Effect.Effect<void, E>
}

type StartFailure = InstanceStartFailed | InstanceHostUnavailable

/** Operations of a platform (processes, Docker, Kubernetes) on an owner's objects. The driver holds the owner's lock. */
interface InstancePlatform<Names extends InstanceNames, Registered extends { readonly instance: RunningInstance }> {
  /** Name of a directory, container or pod in messages. */
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
  /** Reads the entries of the host and the instance, the oldest first. */
  readonly readLog: (names: Names) => Effect.Effect<ReadonlyArray<RuntimeLogEntry>, Error>
  readonly readFigures: (registered: Registered) => Effect.Effect<Omit<InstanceStats, "startedAt">, Error>
}

const byTime: Order.Order<RuntimeLogEntry> = Order.mapInput(DateTime.Order, ({ timestamp }) => timestamp)

/** Reads the entries of the host and of a container's log; none without a container. */
export const readContainerLog = <E>(names: InstanceNames, log: Effect.Effect<Option.Option<string>, E>) =>
  Effect.map(Effect.all([InstanceLogFile.readEntries(names), log], { concurrency: 2 }), ([host, own]) =>
    Array.sort([...host, ...Option.match(own, { onNone: () => [], onSome: parseLogEntries })], byTime)
  )

/** Figures of a container; null for those that its platform does not report. */
export const makeContainerFigures = (
  memoryMb: number,
  reported: Partial<Omit<InstanceStats, "memoryLimitBytes" | "startedAt">>
): Omit<InstanceStats, "startedAt"> => ({
  cpuPercent: null,
  memoryBytes: null,
  networkReceivedBytes: null,
  networkSentBytes: null,
  pids: null,
  ...reported,
  memoryLimitBytes: memoryMb * 1024 * 1024
})

/** Driver for a platform. With `onClose: "leave"` the instances outlive the driver. */
export const make = Effect.fnUntraced(function* <
  Names extends InstanceNames,
  Registered extends { readonly instance: RunningInstance }
>(platform: InstancePlatform<Names, Registered>, { onClose }: { readonly onClose: "leave" | "stop" }) {
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
          rm(names.directory, { recursive: true, force: true, maxRetries: 3 })
        )
      })
    )
  )
  const removeOtherAgents = Effect.fn("InstanceDriver.removeOtherAgents")(
    (owner: UserId, kept: ReadonlyArray<AgentId>) =>
      ignoreUnnamed(owner, (names) => platform.removeOtherAgents(names, kept))
  )

  /** Hot path: called before every turn, so a registered instance requires no call to the platform. */
  const inspect = Effect.fnUntraced(function* (owner: UserId) {
    const findRegistered = () => Option.map(running.get(owner), ({ instance }) => instance)
    const registered = findRegistered()
    if (Option.isSome(registered)) return registered
    const found = yield* Effect.mapError(
      withNames(owner, (names) =>
        Effect.suspend(() => {
          const started = findRegistered()
          return Option.isSome(started) ? Effect.succeed(started) : platform.find(names)
        })
      ),
      toHostUnavailable
    )
    return Option.flatten(found)
  }, withExportedSpan("InstanceDriver.inspect"))

  const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: RuntimeLogQuery) {
    const names = namesOf(owner)
    if (Option.isNone(names)) return { entries: [], total: 0 }
    return selectLogPage(yield* Effect.mapError(platform.readLog(names.value), toHostUnavailable), query)
  })

  const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
    yield* inspect(owner)
    return yield* Effect.transposeMapOption(running.get(owner), (registered) =>
      Effect.map(Effect.mapError(platform.readFigures(registered), toHostUnavailable), (figures) => ({
        ...figures,
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
