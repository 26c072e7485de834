import { Effect, Option } from "effect"
import { readdir } from "node:fs/promises"
import { endProcess } from "./CellEnd.ts"
import { cellPlace } from "./CellPlace.ts"
import * as CellRecord from "./CellRecord.ts"
import { io, isMissing } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { instanceRoots } from "./Quarters.ts"

/** The processes recorded below a directory of instances that still run. */
const recordedBelow = (root: string) =>
  io(`listing ${root}`, () => readdir(root)).pipe(
    Effect.catchIf(isMissing, () => Effect.succeed<ReadonlyArray<string>>([])),
    Effect.map((names) => names.flatMap((name) => Option.toArray(cellPlace(root, name)))),
    Effect.flatMap(Effect.forEach((place) => Effect.map(CellRecord.read(place), Option.toArray), { concurrency: 16 })),
    Effect.map((records) => records.flat()),
    Effect.flatMap(
      Effect.filter(({ began, pid }) =>
        Effect.map(HostProcess.find(pid, Option.fromNullable(began)), (found) => found === "ours")
      )
    )
  )

const orphans = (directory: string) =>
  Effect.map(
    Effect.forEach(instanceRoots(directory), (root) =>
      Effect.catchAll(recordedBelow(root), ({ message }) =>
        Effect.as(Effect.logWarning("Orphaned instances could not be listed", message), [])
      )
    ),
    (found) => found.flat()
  )

/** Ends the instances that a server left running when it was killed: by SIGTERM, or by SIGKILL after the usual grace. */
export const end = Effect.fn("OrphanedInstances.end")(function* (directory: string) {
  yield* Effect.forEach(
    yield* orphans(directory),
    ({ began, pid }) =>
      Effect.zipRight(
        Effect.logWarning("An orphaned instance is ended").pipe(Effect.annotateLogs({ pid })),
        endProcess(pid, Option.fromNullable(began))
      ),
    { concurrency: 16, discard: true }
  )
})

/** Kills the same at once. */
export const kill = Effect.fn("OrphanedInstances.kill")(function* (directory: string) {
  for (const { pid } of yield* orphans(directory)) HostProcess.signal(pid, "SIGKILL")
})
