import type { UserId } from "@berth/domain/accounts/User"
import {
  type Cell,
  CellDidNotStart,
  type CellExit,
  type CellSpec,
  InstanceDriver
} from "@berth/domain/instances/InstanceDriver"
import * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, Layer, Option, PubSub, RcMap, Schedule, Stream } from "effect"
import { rm } from "node:fs/promises"
import * as CellClient from "../../runtime/CellClient.ts"
import type { CellChild } from "./CellChild.ts"
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
import { type BundleIsUnreadable, findQuarters } from "./Quarters.ts"

export interface ProcessDriverOptions {
  /** Where the cells live, one directory an owner: `DATA_DIR/instances`. */
  readonly directory: string
  /** The runtime's program: path of `runtime.mjs`. */
  readonly bundle: string
  /** What becomes of the cells when this layer is closed: a later backend adopts those that are left. */
  readonly onClose: "leave" | "stop"
  /** Base address of an OTLP/HTTP collector that the cells send their spans to. */
  readonly otlpEndpoint?: string | undefined
}

/** A cell that this driver knows to be up. */
interface Tenant {
  readonly cell: Cell
  readonly place: CellPlace
  readonly pid: number
  readonly began: Option.Option<string>
  /** None for a cell that an earlier backend started: its end must be looked for. */
  readonly child: Option.Option<CellChild>
  readonly logFrom: number
}

const lookAfterAdopted = "1 second"
const lookAfterLogs = "30 seconds"

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
    const settings: StartSettings = {
      node,
      bundle: quarters.bundle,
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

    /** Tells of a death, unless it was asked for: then the tenant is not on the list any more. */
    const died = (tenant: Tenant, end: Option.Option<ProcessEnd>) =>
      Effect.gen(function* () {
        const { owner } = tenant.cell
        if (tenants.get(owner) !== tenant) return
        tenants.delete(owner)
        const reason = exitReason(end, lastWords(yield* CellLog.endOf(tenant.place, tenant.logFrom)))
        yield* Effect.logWarning("A cell died").pipe(Effect.annotateLogs({ userId: owner, pid: tenant.pid, reason }))
        yield* PubSub.publish(exits, { owner, reason })
      }).pipe(Effect.orDie)

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
    const adopt = (owner: UserId, place: CellPlace, { address, pid }: CellSurvey) =>
      Effect.gen(function* () {
        if (Option.isNone(address) || Option.isNone(pid)) return Option.none<Cell>()
        const known = tenants.get(owner)
        if (known?.pid === pid.value) return Option.some(known.cell)
        const cell = toCell(owner, address.value, address.value)
        const began = yield* HostProcess.startOf(pid.value)
        yield* Effect.logInfo("A cell was adopted").pipe(Effect.annotateLogs({ userId: owner, pid: pid.value }))
        return Option.some(yield* enlist({ cell, place, pid: pid.value, began, child: Option.none(), logFrom: 0 }))
      })

    const launch = (spec: CellSpec, place: CellPlace) =>
      Effect.gen(function* () {
        const { began, cell, child, logFrom } = yield* startCell(settings, spec, place)
        yield* Effect.logInfo("A cell was started").pipe(Effect.annotateLogs({ userId: spec.owner, pid: child.pid }))
        return yield* enlist({ cell, place, pid: child.pid, began, child: Option.some(child), logFrom })
      })

    const start = Effect.fn("InstanceDriver.start")(function* (spec: CellSpec) {
      const { owner } = spec
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const failed = (reason: string) => new CellDidNotStart({ owner, reason })
      const place = yield* Effect.mapError(placeOf(owner), () => failed("the owner's id names no directory"))
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
        return yield* launch(spec, place)
      })
      return yield* Effect.mapError(alone(owner, work), ({ message }) => failed(message))
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

    const stop = Effect.fn("InstanceDriver.stop")(function* (owner: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const place = placeOf(owner)
      if (Option.isSome(place)) yield* Effect.orDie(alone(owner, end(owner, place.value)))
    })

    const remove = Effect.fn("InstanceDriver.remove")(function* (owner: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": owner })
      const place = placeOf(owner)
      if (Option.isNone(place)) return
      const { directory } = place.value
      const erase = io(`removing ${directory}`, () => rm(directory, { recursive: true, force: true, maxRetries: 3 }))
      yield* Effect.orDie(alone(owner, Effect.zipRight(end(owner, place.value), erase)))
    })

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

    const lookAt = (tenant: Tenant) =>
      Effect.flatMap(HostProcess.find(tenant.pid, tenant.began), (finding) =>
        finding === "gone" || finding === "strange" ? died(tenant, Option.none()) : Effect.void
      )
    const watchAdopted = Effect.suspend(() =>
      Effect.forEach(
        [...tenants.values()].filter(({ child }) => Option.isNone(child)),
        lookAt,
        { discard: true }
      )
    )
    const rotateLogs = Effect.suspend(() =>
      Effect.forEach([...tenants.values()], ({ place }) => CellLog.rotate(place), { discard: true })
    )
    const always = <E>(work: Effect.Effect<void, E>, every: typeof lookAfterAdopted | typeof lookAfterLogs) =>
      work.pipe(
        Effect.catchAllCause((cause) => Effect.logError("The care for the cells failed", cause)),
        Effect.schedule(Schedule.spaced(every)),
        Effect.forkScoped
      )
    yield* always(watchAdopted, lookAfterAdopted)
    yield* always(rotateLogs, lookAfterLogs)

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() =>
        options.onClose === "leave"
          ? Effect.logInfo("The cells stay up").pipe(Effect.annotateLogs({ cells: tenants.size }))
          : Effect.forEach([...tenants.keys()], stop, { concurrency: 16, discard: true })
      )
    )

    return InstanceDriver.of({ start, stop, remove, inspect, exits: Stream.fromPubSub(exits) })
  })
