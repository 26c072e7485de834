import { Effect, Option } from "effect"
import { readdir } from "node:fs/promises"
import { terminateProcess } from "../../instance-drivers/process/ProcessTermination.ts"
import { resolveInstanceDirectory } from "../../instance-drivers/process/InstanceDirectory.ts"
import * as CellRecord from "../../instance-drivers/process/ProcessRecord.ts"
import { tryFileOperation, isFileMissing } from "../../instance-drivers/process/HostFiles.ts"
import * as HostProcess from "../../instance-drivers/process/HostProcess.ts"
import { instanceRoots } from "../../instance-drivers/process/InstanceRoot.ts"

/** The processes recorded below a directory of instances that still run. */
const recordedBelow = (root: string) =>
  tryFileOperation(`listing ${root}`, () => readdir(root)).pipe(
    Effect.catchIf(isFileMissing, () => Effect.succeed<ReadonlyArray<string>>([])),
    Effect.map((names) => names.flatMap((name) => Option.toArray(resolveInstanceDirectory(root, name)))),
    Effect.flatMap(Effect.forEach((place) => Effect.map(CellRecord.readProcessRecord(place), Option.toArray), { concurrency: 16 })),
    Effect.map((records) => records.flat()),
    Effect.flatMap(
      Effect.filter(({ began, pid }) =>
        Effect.map(HostProcess.matchProcess(pid, Option.fromNullable(began)), (found) => found === "ours")
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
        terminateProcess(pid, Option.fromNullable(began))
      ),
    { concurrency: 16, discard: true }
  )
})

/** Kills the same at once. */
export const kill = Effect.fn("OrphanedInstances.kill")(function* (directory: string) {
  for (const { pid } of yield* orphans(directory)) HostProcess.sendSignal(pid, "SIGKILL")
})
