import type { RuntimeLogQuery } from "@berth/domain/instances/RuntimeLog"
import {
  type RunningInstance,
  InstanceStartFailed,
  type InstanceExit,
  type InstanceSpec,
  InstanceDriver
} from "@berth/domain/instances/InstanceDriver"
import * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, Layer, Option, PubSub, RcMap, Stream } from "effect"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import * as RuntimeClient from "../../runtime/RuntimeClient.ts"
import * as RuntimeBundles from "./RuntimeBundles.ts"
import * as InstanceMonitor from "./InstanceMonitor.ts"
import { terminateProcess } from "./ProcessTermination.ts"
import { decideStart } from "./StartDecision.ts"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import { type InstanceDirectory, resolveInstanceDirectory } from "./InstanceDirectory.ts"
import { startProcess, type ProcessStartSettings } from "./ProcessStart.ts"
import { type InstanceProbe, probeInstance, toRunningInstance } from "./InstanceProbe.ts"
import * as InstanceAccounts from "./InstanceAccounts.ts"
import { type FileOperationFailed, tryFileOperation } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { describeExit, findExitMessage, type ProcessExit } from "./ProcessExit.ts"
import { detectPermissionFlags } from "./NodeFlags.ts"
import { readProcessMetrics } from "./ProcessMetrics.ts"
import { type BundleUnreadable, prepareInstanceRoot } from "./InstanceRoot.ts"
import type { RunningProcess } from "./RunningProcess.ts"
import { UserId } from "@berth/domain/shared/UserId"

export interface ProcessInstanceDriverOptions {
  /** Where the cells live, one directory an owner: `DATA_DIR/instances`. */
  readonly directory: string
  /** The newest version of the runtime's program: path of `runtime.mjs`. */
  readonly bundle: string
  /** What becomes of the cells when this layer is closed: a later backend adopts those that are left. */
  readonly onClose: "leave" | "stop"
  /** Base address of an OTLP/HTTP collector that the cells send their spans to. */
  readonly otlpEndpoint?: string | undefined
  readonly intervals?: Partial<InstanceMonitor.MonitorIntervals>
}

/**
 * Cells as child processes of this machine. They outlive the backend: what is needed to find one again lies in its
 * owner's directory. No wall is as thick as a container's, but each cell has an account (where we may give it one), a
 * directory and an environment of its own, and the engine's permission model.
 */
export const layer = (
  options: ProcessInstanceDriverOptions
): Layer.Layer<InstanceDriver, BundleUnreadable | FileOperationFailed, HttpClient.HttpClient> =>
  Layer.scoped(InstanceDriver, make(options))

const make = (options: ProcessInstanceDriverOptions) =>
  Effect.gen(function* () {
    const node = process.execPath
    const client = RuntimeClient.make(yield* HttpClient.HttpClient)
    const quarters = yield* prepareInstanceRoot({ directory: options.directory, bundle: options.bundle, node })
    const bundles = RuntimeBundles.make(quarters.path, quarters.bundle)
    const tidyUp = Effect.catchAll(bundles.removeUnused, ({ message }) =>
      Effect.logWarning("Old programs could not be deleted").pipe(Effect.annotateLogs({ reason: message }))
    )
    yield* tidyUp
    const settings: ProcessStartSettings = {
      node,
      permission: detectPermissionFlags(process.allowedNodeEnvironmentFlags),
      otlpEndpoint: options.otlpEndpoint,
      accounts: yield* InstanceAccounts.make(quarters.path, quarters.uids),
      client
    }
    const scope = yield* Effect.scope
    const tenants = new Map<UserId, RunningProcess>()
    const exits = yield* PubSub.unbounded<InstanceExit>()
    const locks = yield* RcMap.make({ lookup: (_: UserId) => Effect.makeSemaphore(1) })

    const alone = <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>) =>
      Effect.scoped(Effect.flatMap(RcMap.get(locks, owner), (lock) => lock.withPermits(1)(work)))

    /** An owner whose id names no directory has no cell. */
    const placeOf = (owner: UserId) => resolveInstanceDirectory(quarters.path, owner)

    const tell = (owner: UserId, reason: string) => PubSub.publish(exits, { owner, reason })

    /** Tells of a death, unless it was asked for: then the tenant is not on the list any more. */
    const died = (tenant: RunningProcess, end: Option.Option<ProcessExit>) =>
      Effect.gen(function* () {
        const { owner } = tenant.instance
        if (tenants.get(owner) !== tenant) return
        tenants.delete(owner)
        const reason = describeExit(
          end,
          findExitMessage(yield* InstanceLogFile.readTail(tenant.directory, tenant.logOffset))
        )
        yield* Effect.logWarning("A cell died").pipe(Effect.annotateLogs({ userId: owner, pid: tenant.pid, reason }))
        yield* InstanceLogFile.appendHostLine(tenant.directory, "error", `The cell died: ${reason}`)
        yield* tell(owner, reason)
      }).pipe(Effect.orDie)

    /** For a cell that must not go on; whoever keeps the cells hears of it as of a death. */
    const endBecause = ({ instance: { owner }, ...tenant }: RunningProcess, reason: string, isStill: () => boolean) =>
      Effect.gen(function* () {
        if (!isStill()) return
        tenants.delete(owner)
        yield* Effect.logWarning("A cell is ended").pipe(
          Effect.annotateLogs({ userId: owner, pid: tenant.pid, reason })
        )
        yield* terminateProcess(tenant.pid, tenant.startMark)
        yield* InstanceLogFile.appendHostLine(tenant.directory, "error", `The cell was ended: ${reason}.`)
        yield* tell(owner, reason)
      }).pipe(Effect.orDie, Effect.uninterruptible)

    const enlist = (tenant: RunningProcess) =>
      Effect.gen(function* () {
        tenants.set(tenant.instance.owner, tenant)
        if (Option.isSome(tenant.child))
          yield* Deferred.await(tenant.child.value.exit).pipe(
            Effect.flatMap((end) => died(tenant, Option.some(end))),
            Effect.forkIn(scope)
          )
        return tenant.instance
      })

    /** A cell that an earlier backend, or another driver, started. One that is on the list already stays as it is. */
    const adopt = (owner: UserId, place: InstanceDirectory, { address, pid, record }: InstanceProbe) =>
      Effect.gen(function* () {
        if (Option.isNone(address) || Option.isNone(pid)) return Option.none<RunningInstance>()
        const known = tenants.get(owner)
        if (known?.pid === pid.value) return Option.some(known.instance)
        const cell = toRunningInstance(owner, address.value, address.value)
        const began = yield* HostProcess.readStartMark(pid.value)
        yield* Effect.logInfo("A cell was adopted").pipe(Effect.annotateLogs({ userId: owner, pid: pid.value }))
        return Option.some(
          yield* enlist({
            instance: cell,
            directory: place,
            pid: pid.value,
            startMark: began,
            child: Option.none(),
            logOffset: 0,
            startedWith: record
          })
        )
      })

    const launch = (spec: InstanceSpec, place: InstanceDirectory, bundle: RuntimeBundles.RuntimeBundle) =>
      Effect.gen(function* () {
        const started = yield* startProcess(settings, spec, place, bundle)
        const { began, instance, child, diskAtStart, logOffset } = started
        const { diskMb, memoryMb, owner } = spec
        const { pid } = child
        yield* Effect.logInfo("A cell was started").pipe(Effect.annotateLogs({ userId: owner, pid }))
        const startedWith = Option.some({ memoryMb, diskMb, diskAtStart })
        return yield* enlist({
          instance,
          directory: place,
          pid,
          startMark: began,
          child: Option.some(child),
          logOffset,
          startedWith
        })
      })

    const placeFor = (owner: UserId) =>
      Effect.mapError(
        placeOf(owner),
        () => new InstanceStartFailed({ owner, reason: "the owner's id names no directory" })
      )

    const asNotStarted = (owner: UserId) =>
      Effect.mapError(
        ({ message }: { readonly message: string }) => new InstanceStartFailed({ owner, reason: message })
      )

    const start = Effect.fn("InstanceDriver.start")(function* (spec: InstanceSpec) {
      const { owner } = spec
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const place = yield* placeFor(owner)
      const work = Effect.gen(function* () {
        const found = yield* probeInstance(client, place, Option.some(spec.token))
        const fate = decideStart(found, spec)
        if (fate._tag === "Adopt") {
          const cell = yield* adopt(owner, place, found)
          if (Option.isSome(cell)) return cell.value
        }
        // From here on the old cell's end is not news to anybody.
        tenants.delete(owner)
        if (fate._tag === "Replace" && Option.isSome(found.pid)) {
          yield* Effect.logWarning("A cell is replaced").pipe(
            Effect.annotateLogs({ userId: owner, pid: found.pid.value, reason: fate.reason })
          )
          yield* terminateProcess(found.pid.value, yield* HostProcess.readStartMark(found.pid.value))
        }
        const bundle = yield* bundles.findPinned(place)
        const cell = yield* launch(spec, place, bundle)
        yield* bundles.pin(place, bundle)
        return cell
      })
      return yield* alone(owner, work).pipe(asNotStarted(owner))
    })

    const end = (owner: UserId, place: InstanceDirectory) =>
      Effect.gen(function* () {
        const known = tenants.get(owner)
        tenants.delete(owner)
        if (known !== undefined) yield* terminateProcess(known.pid, known.startMark)
        else {
          const { pid, process } = yield* probeInstance(client, place, Option.none())
          if (process === "ours" && Option.isSome(pid))
            yield* terminateProcess(pid.value, yield* HostProcess.readStartMark(pid.value))
        }
        yield* tryFileOperation(`removing ${place.record}`, () => rm(place.record, { force: true }))
        yield* tryFileOperation(`removing ${place.address}`, () => rm(place.address, { force: true }))
      }).pipe(Effect.uninterruptible)

    const erase = (path: string) =>
      tryFileOperation(`removing ${path}`, () => rm(path, { recursive: true, force: true, maxRetries: 3 }))

    /** A directory as for a new cell, with the files of its agents in it. */
    const renew = ({ agents, home }: InstanceDirectory) =>
      Effect.gen(function* () {
        const entries = yield* tryFileOperation(`reading ${home}`, () =>
          readdir(home, { withFileTypes: true }).catch((cause: unknown) => {
            if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return []
            throw cause
          })
        )
        for (const entry of entries)
          if (!entry.isDirectory() || join(home, entry.name) !== agents) yield* erase(join(home, entry.name))
      })

    /** A backend that dies on the way leaves the old version noted, so the next one starts that, or adopts what runs. */
    const update = <E>(
      spec: InstanceSpec,
      { fresh }: { readonly fresh: boolean },
      accept: (cell: RunningInstance) => Effect.Effect<void, E>
    ) =>
      Effect.gen(function* () {
        const { owner } = spec
        const place = yield* placeFor(owner)
        const replaced = Effect.gen(function* () {
          yield* end(owner, place)
          if (fresh) yield* renew(place)
          return yield* launch(spec, place, bundles.newest)
        }).pipe(asNotStarted(owner))
        const work = Effect.gen(function* () {
          const cell = yield* replaced
          yield* Effect.onError(accept(cell), () => Effect.orDie(end(owner, place)))
          yield* Effect.orDie(bundles.pin(place, bundles.newest))
          return cell
        })
        const cell = yield* alone(owner, work)
        yield* tidyUp
        return cell
      }).pipe(Effect.withSpan("InstanceDriver.update", { attributes: { "user.id": spec.owner } }))

    const stop = Effect.fn("InstanceDriver.stop")(function* (owner: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const place = placeOf(owner)
      if (Option.isSome(place)) yield* Effect.orDie(alone(owner, end(owner, place.value)))
    })

    const remove = Effect.fn("InstanceDriver.remove")(function* (owner: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const place = placeOf(owner)
      if (Option.isNone(place)) return
      yield* Effect.orDie(alone(owner, Effect.zipRight(end(owner, place.value), erase(place.value.path))))
    })

    /** Names of directories that were made from owners' ids. */
    const owners = tryFileOperation("listing the owners", () => readdir(quarters.path)).pipe(
      Effect.map((names) =>
        names
          .filter((name) => Option.isSome(resolveInstanceDirectory(quarters.path, name)))
          .map((name) => UserId.make(name))
      ),
      Effect.orDie,
      Effect.withSpan("InstanceDriver.listOwners")
    )

    /** Asked before every turn, so a cell on the list costs no more than a look at its process. */
    const known = (owner: UserId) =>
      Effect.sync(() =>
        Option.fromNullable(tenants.get(owner)).pipe(
          Option.filter(({ pid }) => HostProcess.isRunning(pid)),
          Option.map(({ instance }) => instance)
        )
      )

    const lookFor = (owner: UserId, place: InstanceDirectory) =>
      Effect.gen(function* () {
        const cell = yield* known(owner)
        if (Option.isSome(cell)) return cell
        const found = yield* probeInstance(client, place, Option.none())
        return found.process === "ours" && found.health !== "silent"
          ? yield* adopt(owner, place, found)
          : Option.none<RunningInstance>()
      })

    const inspect = Effect.fn("InstanceDriver.inspect")(function* (owner: UserId) {
      const cell = yield* known(owner)
      const place = placeOf(owner)
      return Option.isSome(cell) || Option.isNone(place)
        ? cell
        : yield* Effect.orDie(alone(owner, lookFor(owner, place.value)))
    })

    const care = yield* InstanceMonitor.make({
      processes: () => tenants.values(),
      client,
      intervals: { ...InstanceMonitor.defaultMonitorIntervals, ...options.intervals },
      onGone: (tenant) => died(tenant, Option.none()),
      endWithReason: (tenant, reason) =>
        alone(
          tenant.instance.owner,
          endBecause(tenant, reason, () => tenants.get(tenant.instance.owner) === tenant)
        )
    })

    const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: RuntimeLogQuery) {
      const place = placeOf(owner)
      return Option.isNone(place)
        ? { entries: [], total: 0 }
        : yield* Effect.orDie(care.withLogLock(InstanceLogFile.readLogPage(place.value, query)))
    })

    const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
      yield* inspect(owner)
      const tenant = tenants.get(owner)
      if (tenant === undefined) return Option.none()
      const figures = Option.getOrNull(yield* readProcessMetrics(tenant.pid))
      const cpuPercent = figures === null ? null : yield* care.measureCpu(tenant, figures.cpuMs)
      return Option.some({
        cpuPercent,
        memoryBytes: figures?.residentBytes ?? null,
        memoryLimitBytes: Option.getOrNull(Option.map(tenant.startedWith, ({ memoryMb }) => memoryMb * 1024 * 1024)),
        // A process has no network of its own to count.
        networkReceivedBytes: null,
        networkSentBytes: null,
        pids: figures?.threads ?? null,
        startedAt: tenant.instance.startedAt
      })
    })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() =>
        options.onClose === "leave"
          ? Effect.logInfo("The cells stay up").pipe(Effect.annotateLogs({ cells: tenants.size }))
          : Effect.forEach([...tenants.keys()], stop, { concurrency: 16, discard: true })
      )
    )

    return InstanceDriver.of({
      start,
      update,
      stop,
      remove,
      listOwners: owners,
      inspect,
      logs,
      stats,
      exits: Stream.fromPubSub(exits)
    })
  })
