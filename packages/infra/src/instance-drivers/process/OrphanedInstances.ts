import { Effect, Option } from "effect"
import { readdir, rm } from "node:fs/promises"
import { matchProcess, sendSignal } from "../../process/ProcessIdentity.ts"
import { tryFileOperation, isFileMissing } from "../HostFiles.ts"
import { resolveInstanceDirectory, resolveSocketRoot } from "./InstanceDirectory.ts"
import { instanceRoots } from "./InstanceRoot.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import { terminateProcessOrLog } from "./ProcessTermination.ts"

/** Lists the running recorded processes in a directory of instances. */
const listRecorded = (root: string) =>
  tryFileOperation(`listing ${root}`, () => readdir(root)).pipe(
    Effect.catchIf(isFileMissing, () => Effect.succeed<ReadonlyArray<string>>([])),
    Effect.map((names) => names.flatMap((name) => Option.toArray(resolveInstanceDirectory(root, name)))),
    Effect.flatMap(
      Effect.forEach((directory) => Effect.map(ProcessRecord.readProcessRecord(directory), Option.toArray), {
        concurrency: 16
      })
    ),
    Effect.map((records) =>
      records.flat().filter(({ pid, startMark }) => matchProcess(pid, Option.fromNullable(startMark)) === "same")
    )
  )

const listOrphans = (directory: string) =>
  Effect.map(
    Effect.forEach(instanceRoots(directory), (root) =>
      Effect.catchAll(listRecorded(root), ({ message }) =>
        Effect.as(Effect.logWarning("Orphaned instances not listed", message), [])
      )
    ),
    (found) => found.flat()
  )

/** Terminates the instances of a killed server. */
export const end = Effect.fn("OrphanedInstances.end")(function* (directory: string) {
  yield* Effect.forEach(
    yield* listOrphans(directory),
    ({ pid, startMark, uid }) =>
      Effect.zipRight(
        Effect.logWarning("Orphaned instance ended").pipe(Effect.annotateLogs({ pid })),
        terminateProcessOrLog(pid, Option.fromNullable(startMark), Option.fromNullable(uid))
      ),
    { concurrency: 16, discard: true }
  )
  for (const root of instanceRoots(directory))
    yield* tryFileOperation("removing the sockets", () =>
      rm(resolveSocketRoot(root), { recursive: true, force: true })
    ).pipe(Effect.catchAll(({ message }) => Effect.logWarning("Sockets not removed", message)))
})

/** Kills the same instances without a grace period. */
export const kill = Effect.fn("OrphanedInstances.kill")(function* (directory: string) {
  for (const { pid } of yield* listOrphans(directory)) sendSignal(pid, "SIGKILL")
})
