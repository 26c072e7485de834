import { UserId } from "@berth/domain/accounts/User"
import type { CellLogQuery } from "@berth/domain/instances/CellLog"
import {
  type Cell,
  CellDidNotStart,
  type CellExit,
  type CellSpec,
  InstanceDriver
} from "@berth/domain/instances/InstanceDriver"
import * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, Layer, Option, PubSub, RcMap, Stream } from "effect"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import * as CellClient from "../../runtime/CellClient.ts"
import * as Bundles from "./Bundles.ts"
import * as CellCare from "./CellCare.ts"
import { endProcess } from "./CellEnd.ts"
import { cellFate } from "./CellFate.ts"
import * as CellLog from "./CellLog.ts"
import { type CellPlace, cellPlace } from "./CellPlace.ts"
import { startCell, type StartSettings } from "./CellStart.ts"
import { type CellSurvey, survey, toCell } from "./CellSurvey.ts"
import * as Homes from "./Homes.ts"
import { type FileTrouble, io } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { exitReason, lastWords, type ProcessEnd } from "./LastWords.ts"
import { permissionFlags } from "./NodeFlags.ts"
import { figuresOf } from "./ProcessFigures.ts"
import { type BundleIsUnreadable, findQuarters } from "./Quarters.ts"
import type { Tenant } from "./Tenant.ts"

export interface ProcessDriverOptions {
  /** Where the cells live, one directory an owner: `DATA_DIR/instances`. */
  readonly directory: string
  /** The newest version of the runtime's program: path of `runtime.mjs`. */
  readonly bundle: string
  /** What becomes of the cells when this layer is closed: a later backend adopts those that are left. */
  readonly onClose: "leave" | "stop"
  /** Base address of an OTLP/HTTP collector that the cells send their spans to. */
  readonly otlpEndpoint?: string | undefined
  readonly intervals?: Partial<CellCare.CareIntervals>
}

/**
 * Cells as child processes of this machine. They outlive the backend: what is needed to find one again lies in its
 * owner's directory. No wall is as thick as a container's, but each cell has an account (where we may give it one), a
 * directory and an environment of its own, and the engine's permission model.
 */
export const layer = (
  options: ProcessDriverOptions
): Layer.Layer<InstanceDriver, BundleIsUnreadable | FileTrouble, HttpClient.HttpClient> =>
  Layer.scoped(InstanceDriver, make(options))

const make = (options: ProcessDriverOptions) =>
  Effect.gen(function* () {
    const node = process.execPath
    const client = CellClient.make(yield* HttpClient.HttpClient)
    const quarters = yield* findQuarters({ directory: options.directory, bundle: options.bundle, node })
    const bundles = Bundles.make(quarters.root, quarters.bundle)
    const tidyUp = Effect.catchAll(bundles.sweep, ({ message }) =>
      Effect.logWarning("Old programs could not be deleted").pipe(Effect.annotateLogs({ reason: message }))
    )
    yield* tidyUp
    const settings: StartSettings = {
      node,
      permission: permissionFlags(process.allowedNodeEnvironmentFlags),
      otlpEndpoint: options.otlpEndpoint,
      homes: yield* Homes.make(quarters.root, quarters.uids),
      client
    }
    const scope = yield* Effect.scope
    const tenants = new Map<UserId, Tenant>()
    const exits = yield* PubSub.unbounded<CellExit>()
    const locks = yield* RcMap.make({ lookup: (_: UserId) => Effect.makeSemaphore(1) })

    const alone = <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>) =>
      Effect.scoped(Effect.flatMap(RcMap.get(locks, owner), (lock) => lock.withPermits(1)(work)))

    /** An owner whose id names no directory has no cell. */
    const placeOf = (owner: UserId) => cellPlace(quarters.root, owner)

    const tell = (owner: UserId, reason: string) => PubSub.publish(exits, { owner, reason })

    /** Tells of a death, unless it was asked for: then the tenant is not on the list any more. */
    const died = (tenant: Tenant, end: Option.Option<ProcessEnd>) =>
      Effect.gen(function* () {
        const { owner } = tenant.cell
        if (tenants.get(owner) !== tenant) return
        tenants.delete(owner)
        const reason = exitReason(end, lastWords(yield* CellLog.endOf(tenant.place, tenant.logFrom)))
        yield* Effect.logWarning("A cell died").pipe(Effect.annotateLogs({ userId: owner, pid: tenant.pid, reason }))
        yield* CellLog.note(tenant.place, "error", `The cell died: ${reason}`)
        yield* tell(owner, reason)
      }).pipe(Effect.orDie)

    /** For a cell that must not go on; whoever keeps the cells hears of it as of a death. */
    const endBecause = ({ cell: { owner }, ...tenant }: Tenant, reason: string, isStill: () => boolean) =>
      Effect.gen(function* () {
        if (!isStill()) return
        tenants.delete(owner)
        yield* Effect.logWarning("A cell is ended").pipe(
          Effect.annotateLogs({ userId: owner, pid: tenant.pid, reason })
        )
        yield* endProcess(tenant.pid, tenant.began)
        yield* CellLog.note(tenant.place, "error", `The cell was ended: ${reason}.`)
        yield* tell(owner, reason)
      }).pipe(Effect.orDie, Effect.uninterruptible)

    const enlist = (tenant: Tenant) =>
      Effect.gen(function* () {
        tenants.set(tenant.cell.owner, tenant)
        if (Option.isSome(tenant.child))
          yield* Deferred.await(tenant.child.value.end).pipe(
            Effect.flatMap((end) => died(tenant, Option.some(end))),
            Effect.forkIn(scope)
          )
        return tenant.cell
      })

    /** A cell that an earlier backend, or another driver, started. One that is on the list already stays as it is. */
    const adopt = (owner: UserId, place: CellPlace, { address, pid, record }: CellSurvey) =>
      Effect.gen(function* () {
        if (Option.isNone(address) || Option.isNone(pid)) return Option.none<Cell>()
        const known = tenants.get(owner)
        if (known?.pid === pid.value) return Option.some(known.cell)
        const cell = toCell(owner, address.value, address.value)
        const began = yield* HostProcess.startOf(pid.value)
        yield* Effect.logInfo("A cell was adopted").pipe(Effect.annotateLogs({ userId: owner, pid: pid.value }))
        return Option.some(
          yield* enlist({ cell, place, pid: pid.value, began, child: Option.none(), logFrom: 0, startedWith: record })
        )
      })

    const launch = (spec: CellSpec, place: CellPlace, bundle: Bundles.Bundle) =>
      Effect.gen(function* () {
        const started = yield* startCell(settings, spec, place, bundle)
        const { began, cell, child, diskAtStart, logFrom } = started
        const { diskMb, memoryMb, owner } = spec
        const { pid } = child
        yield* Effect.logInfo("A cell was started").pipe(Effect.annotateLogs({ userId: owner, pid }))
        const startedWith = Option.some({ memoryMb, diskMb, diskAtStart })
        return yield* enlist({ cell, place, pid, began, child: Option.some(child), logFrom, startedWith })
      })

    const placeFor = (owner: UserId) =>
      Effect.mapError(placeOf(owner), () => new CellDidNotStart({ owner, reason: "the owner's id names no directory" }))

    const asNotStarted = (owner: UserId) =>
      Effect.mapError(({ message }: { readonly message: string }) => new CellDidNotStart({ owner, reason: message }))

    const start = Effect.fn("InstanceDriver.start")(function* (spec: CellSpec) {
      const { owner } = spec
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const place = yield* placeFor(owner)
      const work = Effect.gen(function* () {
        const found = yield* survey(client, place, Option.some(spec.token))
        const fate = cellFate(found, spec)
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
          yield* endProcess(found.pid.value, yield* HostProcess.startOf(found.pid.value))
        }
        const bundle = yield* bundles.kept(place)
        const cell = yield* launch(spec, place, bundle)
        yield* bundles.keep(place, bundle)
        return cell
      })
      return yield* alone(owner, work).pipe(asNotStarted(owner))
    })

    const end = (owner: UserId, place: CellPlace) =>
      Effect.gen(function* () {
        const known = tenants.get(owner)
        tenants.delete(owner)
        if (known !== undefined) yield* endProcess(known.pid, known.began)
        else {
          const { pid, process } = yield* survey(client, place, Option.none())
          if (process === "ours" && Option.isSome(pid))
            yield* endProcess(pid.value, yield* HostProcess.startOf(pid.value))
        }
        yield* io(`removing ${place.record}`, () => rm(place.record, { force: true }))
        yield* io(`removing ${place.address}`, () => rm(place.address, { force: true }))
      }).pipe(Effect.uninterruptible)

    const erase = (path: string) =>
      io(`removing ${path}`, () => rm(path, { recursive: true, force: true, maxRetries: 3 }))

    /** A directory as for a new cell, with the files of its agents in it. */
    const renew = ({ agents, home }: CellPlace) =>
      Effect.gen(function* () {
        const entries = yield* io(`reading ${home}`, () =>
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
      spec: CellSpec,
      { fresh }: { readonly fresh: boolean },
      accept: (cell: Cell) => Effect.Effect<void, E>
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
          yield* Effect.orDie(bundles.keep(place, bundles.newest))
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
      yield* Effect.orDie(alone(owner, Effect.zipRight(end(owner, place.value), erase(place.value.directory))))
    })

    /** Names of directories that were made from owners' ids. */
    const owners = io("listing the owners", () => readdir(quarters.root)).pipe(
      Effect.map((names) =>
        names.filter((name) => Option.isSome(cellPlace(quarters.root, name))).map((name) => UserId.make(name))
      ),
      Effect.orDie,
      Effect.withSpan("InstanceDriver.owners")
    )

    /** Asked before every turn, so a cell on the list costs no more than a look at its process. */
    const known = (owner: UserId) =>
      Effect.sync(() =>
        Option.fromNullable(tenants.get(owner)).pipe(
          Option.filter(({ pid }) => HostProcess.isAlive(pid)),
          Option.map(({ cell }) => cell)
        )
      )

    const lookFor = (owner: UserId, place: CellPlace) =>
      Effect.gen(function* () {
        const cell = yield* known(owner)
        if (Option.isSome(cell)) return cell
        const found = yield* survey(client, place, Option.none())
        return found.process === "ours" && found.health !== "silent"
          ? yield* adopt(owner, place, found)
          : Option.none<Cell>()
      })

    const inspect = Effect.fn("InstanceDriver.inspect")(function* (owner: UserId) {
      const cell = yield* known(owner)
      const place = placeOf(owner)
      return Option.isSome(cell) || Option.isNone(place)
        ? cell
        : yield* Effect.orDie(alone(owner, lookFor(owner, place.value)))
    })

    const care = yield* CellCare.make({
      tenants: () => tenants.values(),
      client,
      intervals: { ...CellCare.usualIntervals, ...options.intervals },
      onGone: (tenant) => died(tenant, Option.none()),
      endBecause: (tenant, reason) =>
        alone(
          tenant.cell.owner,
          endBecause(tenant, reason, () => tenants.get(tenant.cell.owner) === tenant)
        )
    })

    const logs = Effect.fn("InstanceDriver.logs")(function* (owner: UserId, query: CellLogQuery) {
      const place = placeOf(owner)
      return Option.isNone(place)
        ? { entries: [], total: 0 }
        : yield* Effect.orDie(care.withLogs(CellLog.page(place.value, query)))
    })

    const stats = Effect.fn("InstanceDriver.stats")(function* (owner: UserId) {
      yield* inspect(owner)
      const tenant = tenants.get(owner)
      if (tenant === undefined) return Option.none()
      const figures = Option.getOrNull(yield* figuresOf(tenant.pid))
      const cpuPercent = figures === null ? null : yield* care.cpuOf(tenant, figures.cpuMs)
      return Option.some({
        cpuPercent,
        memoryBytes: figures?.residentBytes ?? null,
        memoryLimitBytes: Option.getOrNull(Option.map(tenant.startedWith, ({ memoryMb }) => memoryMb * 1024 * 1024)),
        // A process has no network of its own to count.
        networkReceivedBytes: null,
        networkSentBytes: null,
        pids: figures?.threads ?? null,
        startedAt: tenant.cell.startedAt
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
      owners,
      inspect,
      logs,
      stats,
      exits: Stream.fromPubSub(exits)
    })
  })
