import * as Postmaster from "@berth/infra/embedded-postgres/Postmaster"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Effect, Option } from "effect"
import { readFileSync, readdirSync, realpathSync, rmSync, statfsSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { stopDaemon } from "./DaemonEnd.ts"

/** Temporary directories of a test run; the number is that of the process that made it. */
const named = /^berth-test-(\d+)-/

/** The process number that stands in the first line of a file. */
const pidIn = (...path: ReadonlyArray<string>): Option.Option<number> => {
  try {
    return Option.map(Postmaster.parsePostmaster(readFileSync(join(...path), "utf8")), ({ pid }) => pid)
  } catch {
    return Option.none()
  }
}

/** A number that was written down may be somebody else's by now; ours know the directory from how they were started. */
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

/** Ends the servers of a directory without any order, and deletes it. */
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

/** Room that is asked of a file system in memory; the databases of a run take some hundred MB. */
const requiredBytes = 2 * 1024 ** 3

/** A database of a test is a thousand files: making them on a disk costs as much processor time as the tests of its rows. */
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

/** Clears away what runs that were killed left behind. */
export const removeStaleDirectories = Effect.sync(() => {
  for (const { directory, pid } of runDirectories()) if (!isProcessAlive(pid)) stopServersAndRemove(directory)
})

/** For a run that is cut off (a second Ctrl-C, a crash): whatever this process still has. Does nothing after an end in order. */
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

/** A temporary directory that goes with the scope. Other accounts may pass through: a database may run under one. */
export const temporaryDirectory = makeDirectory(onDisk)

/** Like `temporaryDirectory`, in memory where there is room. Programs may not be executable there. */
export const databaseDirectory = makeDirectory(inMemory)
