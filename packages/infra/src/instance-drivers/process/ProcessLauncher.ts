import { Effect, Option } from "effect"
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

/** The longest file of an instance, its log included, in blocks of 512 bytes as POSIX `ulimit` counts. */
const maximumFileBlocks = (64 * 1024 * 1024) / 512

const maximumOpenFiles = 1024
/** Processes and threads of an account; a runtime has about ten. */
const maximumProcesses = 64
/** The backend keeps the processor when the host is busy, and survives when it is out of memory. */
const niceness = 5
const outOfMemoryScore = 500

/** The protections that this host permits. */
export interface ProcessLauncher {
  /** Whether `setpriv` changes the account, which also empties the capability bounding set. */
  readonly dropsCapabilities: boolean
  /** Descriptors that this process would pass on. */
  readonly inherited: ReadonlyArray<number>
}

const dropPrivileges = (uid: number) =>
  `setpriv --reuid ${uid} --regid ${uid} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs --`

/**
 * Limits that the kernel enforces. Node.js cannot set them, so a shell sets them and executes the program, without the
 * variables that shells add. No core dump, which would hold secrets. Host tools that are missing are skipped.
 */
export const makeLaunchScript = ({ dropsCapabilities }: ProcessLauncher, uid: Option.Option<number>): string =>
  [
    `umask 077`,
    `ulimit -c 0; ulimit -f ${maximumFileBlocks}; ulimit -n ${maximumOpenFiles} 2>/dev/null`,
    // The kernel counts the processes of an account: only for one that nothing else uses. Shells differ in the letter.
    ...(Option.isSome(uid) ? [`ulimit -u ${maximumProcesses} 2>/dev/null || ulimit -p ${maximumProcesses}`] : []),
    `echo ${outOfMemoryScore} 2>/dev/null >/proc/self/oom_score_adj`,
    Option.isSome(uid) && dropsCapabilities
      ? `set -- ${dropPrivileges(uid.value)} "$@"`
      : `if command -v setpriv >/dev/null; then set -- setpriv --no-new-privs -- "$@"; fi`,
    `if command -v nice >/dev/null; then set -- nice -n ${niceness} "$@"; fi`,
    `unset PWD OLDPWD SHLVL; exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec "$@"`
  ].join("\n")

const closeOnExec = 0o2000000

/**
 * Descriptors that this process inherited and would pass on. Node.js marks its own and the first inherited ones as closed on
 * execution, but none after a gap above 15.
 */
const listInherited = (): ReadonlyArray<number> => {
  try {
    return readdirSync("/proc/self/fdinfo").flatMap((name) => {
      try {
        const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "utf8"))?.[1] ?? ""
        return Number(name) > 2 && (Number.parseInt(flags, 8) & closeOnExec) === 0 ? [Number(name)] : []
      } catch {
        // The descriptor of the listing itself is closed by now.
        return []
      }
    })
  } catch {
    // Only Linux passes descriptors on.
    return []
  }
}

const canDropCapabilities = (uid: number): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    execFile("/bin/sh", ["-c", `exec ${dropPrivileges(uid)} /bin/sh -c :`], { env: {}, timeout: 10_000 }, (error) =>
      resume(Effect.succeed(error === null))
    )
  })

/** Tries with the first account what this host permits; one log line names what is skipped. */
export const detect = (uid: Option.Option<number>): Effect.Effect<ProcessLauncher> =>
  Effect.gen(function* () {
    const dropsCapabilities = Option.isSome(uid) && (yield* canDropCapabilities(uid.value))
    const skipped = [
      ...(Option.isSome(uid) ? [] : ["process limit"]),
      ...(dropsCapabilities ? [] : ["capability bounding set"])
    ]
    if (skipped.length > 0)
      yield* Effect.logWarning("Instances run without some protections").pipe(Effect.annotateLogs({ skipped }))
    return { dropsCapabilities, inherited: listInherited() }
  })
