import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Data, Deferred, Effect, Option, Redacted } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { allocatorEnvironment } from "./NodeFlags.ts"
import type { ProcessExit } from "./ProcessExit.ts"

export class ProcessSpawnFailed extends Data.TaggedError("ProcessSpawnFailed")<{ readonly reason: string }> {
  override get message() {
    return `the process was not spawned (${this.reason})`
  }
}

/** A child process of this backend. */
export interface SpawnedProcess {
  readonly pid: number
  readonly exit: Deferred.Deferred<ProcessExit>
}

export interface ProcessSpawnOptions {
  readonly node: string
  readonly flags: ReadonlyArray<string>
  readonly bundle: string
  readonly directory: InstanceDirectory
  readonly uid: Option.Option<number>
  readonly otlpEndpoint: string | undefined
  /** File descriptor of the log. */
  readonly output: number
}

/** The whole environment of an instance. The backend's environment may hold keys and is not inherited. */
export const makeRuntimeEnvironment = (
  spec: InstanceSpec,
  home: string,
  otlpEndpoint: string | undefined
): Readonly<Record<string, string>> => ({
  [RuntimeEnvironment.token]: Redacted.value(spec.token),
  [RuntimeEnvironment.backendUrl]: spec.backendUrl,
  [RuntimeEnvironment.directory]: home,
  [RuntimeEnvironment.memoryMb]: String(spec.memoryMb),
  [RuntimeEnvironment.diskMb]: String(spec.diskMb),
  ...allocatorEnvironment,
  ...(otlpEndpoint === undefined
    ? {}
    : { [RuntimeEnvironment.otlpEndpoint]: otlpEndpoint, [RuntimeEnvironment.serviceName]: "berth-runtime" })
})

/** The longest file of an instance, its log included, in blocks of 512 bytes as POSIX `ulimit` counts. */
const maximumFileBlocks = (64 * 1024 * 1024) / 512

const maximumOpenFiles = 1024
/** The backend keeps the processor when the host is busy, and survives when it is out of memory. */
const niceness = 5
const outOfMemoryScore = 500

/**
 * Limits that the kernel enforces. Node.js cannot set them, so a shell sets them and executes the program, without the
 * variables that shells add. No core dump, which would hold secrets. Host tools that are missing are skipped.
 */
const limits = [
  `ulimit -c 0; ulimit -f ${maximumFileBlocks}; ulimit -n ${maximumOpenFiles} 2>/dev/null`,
  `echo ${outOfMemoryScore} 2>/dev/null >/proc/self/oom_score_adj`,
  `if command -v setpriv >/dev/null; then set -- setpriv --no-new-privs -- "$@"; fi`,
  `if command -v nice >/dev/null; then set -- nice -n ${niceness} "$@"; fi`,
  `unset PWD OLDPWD SHLVL; exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec "$@"`
].join("\n")

/** Spawns the process in its own session: Ctrl-C and the backend's end do not reach it. */
export const spawnProcess = (
  spec: InstanceSpec,
  options: ProcessSpawnOptions
): Effect.Effect<SpawnedProcess, ProcessSpawnFailed> =>
  Effect.gen(function* () {
    const exit = yield* Deferred.make<ProcessExit>()
    const child = yield* Effect.async<ChildProcess, ProcessSpawnFailed>((resume) => {
      const failed = (cause: unknown) =>
        resume(new ProcessSpawnFailed({ reason: cause instanceof Error ? cause.message : String(cause) }))
      try {
        const started = spawn(
          "/bin/sh",
          ["-c", limits, "berth-instance", options.node, ...options.flags, options.bundle],
          {
            cwd: options.directory.home,
            detached: true,
            env: makeRuntimeEnvironment(spec, options.directory.home, options.otlpEndpoint),
            stdio: ["ignore", options.output, options.output],
            ...Option.match(options.uid, { onNone: () => ({}), onSome: (uid) => ({ uid, gid: uid }) })
          }
        )
        started.once("error", failed)
        started.once("spawn", () => resume(Effect.succeed(started)))
        // Subscribed in the same tick as the spawn, so that no exit is missed.
        started.once("exit", (code, signal) => {
          Deferred.unsafeDone(exit, Effect.succeed({ code, signal }))
        })
        started.unref()
      } catch (cause) {
        failed(cause)
      }
    })
    return child.pid === undefined
      ? yield* new ProcessSpawnFailed({ reason: "it has no process id" })
      : { pid: child.pid, exit }
  })
