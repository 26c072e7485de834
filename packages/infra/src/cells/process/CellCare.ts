import { Clock, type Duration, Effect, Option, Redacted, Schedule } from "effect"
import type { CellClient } from "../../runtime/CellClient.ts"
import * as CellLog from "./CellLog.ts"
import { ask } from "./CellSurvey.ts"
import { diskTolerance, diskUse } from "./DiskUse.ts"
import type { FileTrouble } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { afterWriting, fullAllowance, isFlood, type LogAllowance } from "./LogFlood.ts"
import { type CpuMark, cpuPercent, figuresOf } from "./ProcessFigures.ts"
import type { Tenant } from "./Tenant.ts"

/** How often each thing about a cell is looked at. */
export interface CareIntervals {
  /** Whether a cell that is not our child still runs, and what memory each holds. */
  readonly life: Duration.DurationInput
  readonly logs: Duration.DurationInput
  readonly disk: Duration.DurationInput
  readonly health: Duration.DurationInput
}

export const usualIntervals: CareIntervals = {
  life: "1 second",
  logs: "1 second",
  disk: "5 seconds",
  health: "10 seconds"
}

/** A cell that did not answer so often in a row, two seconds each, hangs. */
const silences = 3
/** A cell ends itself when it holds too much; one that does not is ended when it holds so many times what it may. */
const memoryTolerance = 1.25
/** Measuring a large directory is work: it is at most this share of the time. */
const diskShare = 1 / 50

/** What is known of a cell from one look to the next; nothing that a later backend needs. */
interface Observations {
  log: { readonly size: number; readonly allowance: LogAllowance }
  silent: number
  nextDiskLook: number
  /** The last two looks at its clock, the newer one first. */
  cpu: ReadonlyArray<CpuMark>
  ending: boolean
}

export interface CareOptions {
  readonly tenants: () => Iterable<Tenant>
  readonly client: CellClient
  readonly intervals: CareIntervals
  /** The process of a cell that is not our child is gone. */
  readonly onGone: (tenant: Tenant) => Effect.Effect<void>
  /** Ends a cell and tells why. */
  readonly endBecause: (tenant: Tenant, reason: string) => Effect.Effect<void>
}

export interface CellCare {
  /** Percent of one core over the last seconds; null where this system does not tell. */
  readonly cpuOf: (tenant: Tenant, cpuMs: number) => Effect.Effect<number | null>
  /** The log is neither read nor cut while the other is done. */
  readonly withLogs: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const mb = (bytes: number): number => Math.round(bytes / 1024 / 1024)

/** Looks after the cells for as long as the scope is open: those that died, hang, fill their disk or flood their log. */
export const make = ({ client, endBecause, intervals, onGone, tenants }: CareOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const logs = yield* Effect.makeSemaphore(1)
    const known = new WeakMap<Tenant, Observations>()

    const observationsOf = (tenant: Tenant) =>
      Effect.gen(function* () {
        const before = known.get(tenant)
        if (before !== undefined) return before
        const size = yield* CellLog.sizeOf(tenant.place.log)
        const allowance = fullAllowance(yield* Clock.currentTimeMillis)
        const fresh: Observations = { log: { size, allowance }, silent: 0, nextDiskLook: 0, cpu: [], ending: false }
        known.set(tenant, fresh)
        return fresh
      })

    /** Beside the looks: a cell that ignores its end takes a while, and the others are looked at meanwhile. */
    const end = (tenant: Tenant, seen: Observations, reason: string) =>
      Effect.suspend(() => {
        if (seen.ending) return Effect.void
        seen.ending = true
        return Effect.asVoid(Effect.forkIn(endBecause(tenant, reason), scope))
      })

    const lookAtLife = (tenant: Tenant) =>
      Effect.gen(function* () {
        if (Option.isNone(tenant.child)) {
          const finding = yield* HostProcess.find(tenant.pid, tenant.began)
          if (finding === "gone" || finding === "strange") return yield* onGone(tenant)
        }
        const figures = yield* figuresOf(tenant.pid)
        if (Option.isNone(figures) || Option.isNone(tenant.startedWith)) return
        const [held, allowed] = [mb(figures.value.residentBytes), tenant.startedWith.value.memoryMb]
        if (held > allowed * memoryTolerance)
          yield* end(tenant, yield* observationsOf(tenant), `it holds ${held} MB, more than the ${allowed} MB it may`)
      })

    const lookAtLog = (tenant: Tenant) =>
      Effect.gen(function* () {
        const seen = yield* observationsOf(tenant)
        const size = yield* CellLog.sizeOf(tenant.place.log)
        const now = yield* Clock.currentTimeMillis
        const allowance = afterWriting(seen.log.allowance, size - seen.log.size, now)
        yield* logs.withPermits(1)(CellLog.rotate(tenant.place))
        seen.log = { size: size > CellLog.logLimit ? 0 : size, allowance }
        if (isFlood(allowance)) yield* end(tenant, seen, "it floods its log")
      })

    const lookAtDisk = (tenant: Tenant) =>
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        const seen = yield* observationsOf(tenant)
        if (Option.isNone(tenant.startedWith) || began < seen.nextDiskLook) return
        const { diskAtStart, diskMb } = tenant.startedWith.value
        const tolerance = diskTolerance(diskMb, diskAtStart)
        const used = yield* diskUse(tenant.place.home, tolerance)
        const ended = yield* Clock.currentTimeMillis
        seen.nextDiskLook = ended + (ended - began) / diskShare
        if (used > tolerance)
          yield* end(tenant, seen, `it holds ${mb(used)} MB on the disk, more than the ${diskMb} MB it may`)
      })

    const lookAtHealth = (tenant: Tenant) =>
      Effect.gen(function* () {
        const seen = yield* observationsOf(tenant)
        const figures = yield* figuresOf(tenant.pid)
        const at = yield* Clock.currentTimeMillis
        if (Option.isSome(figures)) seen.cpu = [{ cpuMs: figures.value.cpuMs, at }, ...seen.cpu.slice(0, 1)]
        // Its token is not known of every cell, and a refusal is an answer too.
        const health = yield* ask(client, tenant.cell.endpoint, Redacted.make("none"))
        seen.silent = health === "silent" ? seen.silent + 1 : 0
        if (seen.silent >= silences) yield* end(tenant, seen, "it does not answer")
      })

    const always = (
      every: Duration.DurationInput,
      look: (tenant: Tenant) => Effect.Effect<void, FileTrouble>,
      concurrency: number
    ) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...tenants()],
          (tenant) =>
            Effect.catchAllCause(look(tenant), (cause) =>
              Effect.logError("The care for a cell failed", cause).pipe(
                Effect.annotateLogs({ userId: tenant.cell.owner })
              )
            ),
          { concurrency, discard: true }
        )
      ).pipe(Effect.schedule(Schedule.spaced(every)), Effect.forkScoped)

    yield* always(intervals.life, lookAtLife, 1)
    yield* always(intervals.logs, lookAtLog, 1)
    yield* always(intervals.disk, lookAtDisk, 1)
    yield* always(intervals.health, lookAtHealth, 16)

    const care: CellCare = {
      cpuOf: (tenant, cpuMs) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const marks = known.get(tenant)?.cpu ?? []
          const before = marks.find((mark) => at - mark.at >= 1000) ?? {
            cpuMs: 0,
            at: tenant.cell.startedAt.epochMillis
          }
          return cpuPercent(before, { cpuMs, at })
        }),
      withLogs: logs.withPermits(1)
    }
    return care
  })
