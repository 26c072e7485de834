import { Effect, Option } from "effect"
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

/** Maximum file size of an instance, including its log, in blocks of 512 bytes as in POSIX `ulimit`. */
const maximumFileBlocks = (64 * 1024 * 1024) / 512

const maximumOpenFiles = 1024
/** Maximum processes and threads of an account; a runtime has about ten. */
const maximumProcesses = 64
/** Gives the backend priority on a busy host, and protects it when memory is exhausted. */
const niceness = 5
const outOfMemoryScore = 500

/** Protections that this host permits. */
export interface ProcessLauncher {
  /** Whether `setpriv` can change the account and empty the capability bounding set. */
  readonly dropsCapabilities: boolean
  /** Descriptors that this process would pass to children. */
  readonly inherited: ReadonlyArray<number>
}

const dropPrivileges = (uid: number) =>
  `setpriv --reuid ${uid} --regid ${uid} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs --`

/**
 * Limits enforced by the kernel. Node.js cannot set them, so a shell sets them and executes the program, without the
 * variables that shells add. Core dumps are disabled, since they would contain secrets. Missing host tools are skipped.
 */
export const makeLaunchScript = ({ dropsCapabilities }: ProcessLauncher, uid: Option.Option<number>): string =>
  [
    `umask 077`,
    `ulimit -c 0; ulimit -f ${maximumFileBlocks}; ulimit -n ${maximumOpenFiles} 2>/dev/null`,
    // The kernel counts the processes of an account, so the limit requires a separate account. Shells differ in the
    // letter.
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
 * Lists inherited descriptors that this process would pass to children. Node.js marks its own and the first inherited
 * ones as close-on-exec, but none after a gap above 15.
 */
const listInherited = (): ReadonlyArray<number> => {
  try {
    return readdirSync("/proc/self/fdinfo").flatMap((name) => {
      try {
        const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "utf8"))?.[1] ?? ""
        return Number(name) > 2 && (Number.parseInt(flags, 8) & closeOnExec) === 0 ? [Number(name)] : []
      } catch {
        // The descriptor of the listing itself is already closed.
        return []
      }
    })
  } catch {
    // Only Linux passes descriptors to children.
    return []
  }
}

const canDropCapabilities = (uid: number): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    execFile("/bin/sh", ["-c", `exec ${dropPrivileges(uid)} /bin/sh -c :`], { env: {}, timeout: 10_000 }, (error) =>
      resume(Effect.succeed(error === null))
    )
  })

/** Tests with the first account which protections this host permits; logs the skipped ones in one line. */
export const detect = Effect.fnUntraced(function* (uid: Option.Option<number>): Effect.fn.Return<ProcessLauncher> {
  const dropsCapabilities = Option.isSome(uid) && (yield* canDropCapabilities(uid.value))
  const skipped = [
    ...(Option.isSome(uid) ? [] : ["process limit"]),
    ...(dropsCapabilities ? [] : ["capability bounding set"])
  ]
  if (skipped.length > 0)
    yield* Effect.logWarning("Instances run without some protections").pipe(Effect.annotateLogs({ skipped }))
  return { dropsCapabilities, inherited: listInherited() }
})
