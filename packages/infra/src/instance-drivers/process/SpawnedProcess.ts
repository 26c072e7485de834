import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Data, Deferred, Effect, Option, Redacted } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { allocatorEnvironment } from "./NodeFlags.ts"
import type { ProcessExit } from "./ProcessExit.ts"

export class ProcessSpawnFailed extends Data.TaggedError("ProcessSpawnFailed")<{ readonly reason: string }> {
  override get message() {
    return `the process was not started (${this.reason})`
  }
}

/** A process of our own. */
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
  /** File descriptor that takes what the cell says. */
  readonly output: number
}

/** All that a cell gets to know; nothing of our own environment, which may hold keys. */
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

/** No file of a cell grows longer than this, its log included, in the units of POSIX `ulimit`: blocks of 512 bytes. */
const maximumFileBlocks = (64 * 1024 * 1024) / 512

/**
 * Limits that hold also when this backend is not there to look: on the length of a file, and no core, which would hold
 * secrets. The engine cannot set them; the shell sets them and becomes the program. What a shell adds of its own to the
 * environment goes.
 */
const limits = `ulimit -c 0; ulimit -f ${maximumFileBlocks}; unset PWD OLDPWD SHLVL; exec "$@"`

/** Starts the process in a session of its own: neither a Ctrl-C nor the backend's end reaches it. */
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
        const started = spawn("/bin/sh", ["-c", limits, "cell", options.node, ...options.flags, options.bundle], {
          cwd: options.directory.home,
          detached: true,
          env: makeRuntimeEnvironment(spec, options.directory.home, options.otlpEndpoint),
          stdio: ["ignore", options.output, options.output],
          ...Option.match(options.uid, { onNone: () => ({}), onSome: (uid) => ({ uid, gid: uid }) })
        })
        started.once("error", failed)
        started.once("spawn", () => resume(Effect.succeed(started)))
        // Listened to from the first moment on, and for as long as we run: who misses it leaves no zombie, but learns nothing.
        started.once("exit", (code, signal) => {
          Deferred.unsafeDone(exit, Effect.succeed({ code, signal }))
        })
        started.unref()
      } catch (cause) {
        failed(cause)
      }
    })
    return child.pid === undefined
      ? yield* new ProcessSpawnFailed({ reason: "it has no number" })
      : { pid: child.pid, exit }
  })
