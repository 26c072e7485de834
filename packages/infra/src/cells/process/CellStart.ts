import type { Cell, CellSpec } from "@berth/domain/instances/InstanceDriver"
import { Data, Deferred, Duration, Effect, Option, Schedule } from "effect"
import { rm } from "node:fs/promises"
import type { CellClient } from "../../runtime/CellClient.ts"
import type { Bundle } from "./Bundles.ts"
import { type CellChild, spawnCell, type CellWasNotSpawned } from "./CellChild.ts"
import { endProcess } from "./CellEnd.ts"
import * as CellLog from "./CellLog.ts"
import type { CellPlace } from "./CellPlace.ts"
import * as CellRecord from "./CellRecord.ts"
import { endpointOf, toCell } from "./CellSurvey.ts"
import { diskUse } from "./DiskUse.ts"
import { type FileTrouble, io } from "./HostFiles.ts"
import type { Homes, NoAccountIsLeft } from "./Homes.ts"
import * as HostProcess from "./HostProcess.ts"
import { exitReason, lastWords } from "./LastWords.ts"
import { nodeFlags, type PermissionFlags } from "./NodeFlags.ts"

/** The process was there, but did not become a cell. */
export class CellWasNotReady extends Data.TaggedError("CellWasNotReady")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

export interface StartSettings {
  readonly node: string
  readonly permission: PermissionFlags
  readonly otlpEndpoint: string | undefined
  readonly homes: Homes
  readonly client: CellClient
}

export interface StartedCell {
  readonly cell: Cell
  readonly child: CellChild
  readonly began: Option.Option<string>
  /** What its directory held before, in bytes. */
  readonly diskAtStart: number
  /** Length of the log before the cell's first word. */
  readonly logFrom: number
}

const readyWithin = Duration.seconds(15)
/** Short against the quarter of a second that a start takes, and cheap: one look at a small file. */
const look = Schedule.spaced("10 millis")

/** The child's own word for where it listens, proven by an answer to the token. */
const answering = (settings: StartSettings, spec: CellSpec, place: CellPlace, child: CellChild) =>
  Effect.gen(function* () {
    const address = yield* CellRecord.readAddress(place).pipe(
      Effect.map(Option.filter(({ pid }) => pid === child.pid)),
      Effect.repeat({ until: Option.isSome, schedule: look }),
      Effect.zipRight(Effect.flatten(CellRecord.readAddress(place))),
      Effect.catchTag("NoSuchElementException", () => new CellWasNotReady({ reason: "its address went away" }))
    )
    const health = yield* settings.client
      .health({ endpoint: endpointOf(address), token: spec.token })
      .pipe(
        Effect.mapError(
          (error) => new CellWasNotReady({ reason: error._tag === "CellRefused" ? error.message : error.reason })
        )
      )
    return toCell(spec.owner, address, health)
  })

const becomeReady = (
  settings: StartSettings,
  spec: CellSpec,
  place: CellPlace,
  child: CellChild,
  logFrom: number
): Effect.Effect<Cell, CellWasNotReady | FileTrouble> => {
  const words = Effect.map(CellLog.endOf(place, logFrom), lastWords)
  const ended = Effect.flatMap(Deferred.await(child.end), (end) =>
    Effect.flatMap(words, (said) => new CellWasNotReady({ reason: exitReason(Option.some(end), said) }))
  )
  const late = Effect.flatMap(words, (said) => {
    const limit = Duration.format(readyWithin)
    return new CellWasNotReady({
      reason: `it was not ready within ${limit}${said === "" ? "" : `; its last words: ${said}`}`
    })
  })
  return Effect.raceFirst(answering(settings, spec, place, child), ended).pipe(
    Effect.timeoutOption(readyWithin),
    Effect.flatMap(Option.match({ onNone: () => late, onSome: Effect.succeed }))
  )
}

/** Starts a cell where none is, and waits until it answers. Whatever goes wrong on the way leaves no process behind. */
export const startCell = (
  settings: StartSettings,
  spec: CellSpec,
  place: CellPlace,
  bundle: Bundle
): Effect.Effect<StartedCell, CellWasNotReady | CellWasNotSpawned | FileTrouble | NoAccountIsLeft> =>
  Effect.gen(function* () {
    const uid = yield* settings.homes.prepare(spec.owner, place)
    yield* io(`removing ${place.address}`, () => rm(place.address, { force: true }))
    const log = yield* Effect.acquireRelease(CellLog.openForCell(place), ({ file }) =>
      Effect.orDie(io(`closing ${place.log}`, () => file.close()))
    )
    const diskAtStart = yield* diskUse(place.home, Number.MAX_SAFE_INTEGER)
    const { node, otlpEndpoint, permission } = settings
    const { file } = bundle
    const flags = nodeFlags({ permission, memoryMb: spec.memoryMb, bundle: file, home: place.home })

    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const child = yield* spawnCell(spec, {
          node,
          flags,
          bundle: file,
          place,
          uid,
          otlpEndpoint,
          output: log.file.fd
        })
        const began = yield* HostProcess.startOf(child.pid)
        const ready = Effect.zipRight(
          CellRecord.write(place, {
            pid: child.pid,
            began: Option.getOrNull(began),
            memoryMb: spec.memoryMb,
            diskMb: spec.diskMb,
            diskAtStart,
            bundle: bundle.digest,
            backendUrl: spec.backendUrl
          }),
          restore(becomeReady(settings, spec, place, child, log.from))
        )
        const cell = yield* Effect.onError(ready, () => endProcess(child.pid, began))
        return { cell, child, began, diskAtStart, logFrom: log.from }
      })
    )
  }).pipe(Effect.scoped)
