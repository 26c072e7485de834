import * as Postmaster from "@berth/infra/embedded-postgres/Postmaster"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Effect, Option } from "effect"
import { readFileSync, readdirSync, realpathSync, rmSync, statfsSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stopDaemon } from "./DaemonEnd.ts"

/** Directories of test runs; the number is the process id of their creator. */
const named = /^berth-test-(\d+)-/

/** The process id in the first line of a file. */
const pidIn = (...path: ReadonlyArray<string>): Option.Option<number> => {
  try {
    return Option.map(Postmaster.parsePostmaster(readFileSync(join(...path), "utf8")), ({ pid }) => pid)
  } catch {
    return Option.none()
  }
}

/** Process ids are reused: the command line must name the directory. */
const belongsTo = (pid: number, directory: string) => {
  try {
    return (
      isProcessAlive(pid) &&
      ["cmdline", "environ"].some((it) => readFileSync(`/proc/${pid}/${it}`, "utf8").includes(directory))
    )
  } catch {
    return false
  }
}

/** Kills the servers of a directory and deletes it. */
const stopServersAndRemove = (directory: string) => {
  stopDaemon(join(directory, "docker"))
  const servers: ReadonlyArray<[Option.Option<number>, NodeJS.Signals]> = [
    [pidIn(directory, "postgres", "cluster", "postmaster.pid"), "SIGQUIT"],
    [pidIn(directory, "redis", "redis.pid"), "SIGKILL"],
    [pidIn(directory, "data", "supervisor.lock"), "SIGKILL"],
    [pidIn(directory, "data", "postgres", "cluster", "postmaster.pid"), "SIGQUIT"]
  ]
  for (const [pid, signal] of servers) {
    if (Option.isSome(pid) && belongsTo(pid.value, directory)) process.kill(pid.value, signal)
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}

const onDisk = realpathSync(tmpdir())

/** Minimum free space in memory; the databases of a run take some hundred MB. */
const requiredBytes = 2 * 1024 ** 3

/** A test database has a thousand files; creating them on a disk takes as much processor time as the tests. */
const inMemory = Option.liftThrowable(() => {
  const directory = "/dev/shm"
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize < requiredBytes ? onDisk : realpathSync(directory)
})().pipe(Option.getOrElse(() => onDisk))

const runDirectories = () =>
  [...new Set([onDisk, inMemory])].flatMap((root) =>
    readdirSync(root).flatMap((entry) => {
      const pid = Number(named.exec(entry)?.[1] ?? 0)
      return pid === 0 ? [] : [{ pid, directory: join(root, entry) }]
    })
  )

/** Removes the directories of killed runs. */
export const removeStaleDirectories = Effect.sync(() => {
  for (const { directory, pid } of runDirectories()) if (!isProcessAlive(pid)) stopServersAndRemove(directory)
})

/** Removes the directories of this process when a run is cut off (a second Ctrl-C, a crash). Idempotent. */
export const removeOwnDirectories = () => {
  for (const { directory, pid } of runDirectories()) if (pid === process.pid) stopServersAndRemove(directory)
}

const makeDirectory = (root: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const directory = await mkdtemp(join(root, `berth-test-${process.pid}-`))
      await chmod(directory, 0o711)
      return directory
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  )

/** A temporary directory for the scope. Other accounts have access to it, since a database may run as one. */
export const temporaryDirectory = makeDirectory(onDisk)

/** Like `temporaryDirectory`, in memory if there is room, perhaps mounted `noexec`. */
export const databaseDirectory = makeDirectory(inMemory)
