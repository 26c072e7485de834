import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import { Data, Deferred, Effect, Option, Redacted } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import { allocatorEnvironment } from "../NodeFlags.ts"
import type { ProcessExit } from "../ProcessExit.ts"
import { makeLaunchScript, type ProcessLauncher } from "./ProcessLauncher.ts"

export class ProcessSpawnFailed extends Data.TaggedError("ProcessSpawnFailed")<{ readonly reason: string }> {
  override readonly message = `The process of the instance was not spawned (${this.reason}). Check the host's limits of processes, memory and open files.`
}

export interface SpawnedProcess {
  readonly pid: number
  readonly exit: Deferred.Deferred<ProcessExit>
}

interface ProcessSpawnOptions {
  readonly node: string
  readonly flags: ReadonlyArray<string>
  readonly bundle: string
  readonly directory: InstanceDirectory
  readonly uid: Option.Option<number>
  readonly launcher: ProcessLauncher
  /** File descriptor of the log. */
  readonly output: number
}

/** Complete environment of an instance. The backend's environment may contain keys and is not inherited. */
const makeRuntimeEnvironment = (
  spec: InstanceSpec,
  { home, socket }: Pick<InstanceDirectory, "home" | "socket">
): Readonly<Record<string, string>> => ({
  [RuntimeEnvironment.token]: Redacted.value(spec.token),
  [RuntimeEnvironment.backendUrl]: spec.backendUrl,
  [RuntimeEnvironment.directory]: home,
  [RuntimeEnvironment.socket]: socket,
  [RuntimeEnvironment.memoryMb]: String(spec.memoryMb),
  [RuntimeEnvironment.diskMb]: String(spec.diskMb),
  ...allocatorEnvironment
})

/** Uses the log as output, and in place of each inherited descriptor. */
const makeStdio = (output: number, inherited: ReadonlyArray<number>): Array<"ignore" | number> =>
  Array.from({ length: Math.max(3, ...inherited.map((fd) => fd + 1)) }, (_, fd) =>
    fd === 1 || fd === 2 || inherited.includes(fd) ? output : "ignore"
  )

/** Spawns the process in a new session, so that Ctrl-C and the backend's end do not affect it. */
export const spawnProcess = Effect.fnUntraced(function* (
  spec: InstanceSpec,
  options: ProcessSpawnOptions
): Effect.fn.Return<SpawnedProcess, ProcessSpawnFailed> {
  const { launcher, uid } = options
  const exit = yield* Deferred.make<ProcessExit>()
  const child = yield* Effect.async<ChildProcess, ProcessSpawnFailed>((resume) => {
    const failed = (cause: unknown) =>
      resume(new ProcessSpawnFailed({ reason: cause instanceof Error ? cause.message : String(cause) }))
    try {
      const started = spawn(
        "/bin/sh",
        ["-c", makeLaunchScript(launcher, uid), "berth-instance", options.node, ...options.flags, options.bundle],
        {
          cwd: options.directory.home,
          detached: true,
          env: makeRuntimeEnvironment(spec, options.directory),
          stdio: makeStdio(options.output, launcher.inherited),
          ...(Option.isNone(uid) || launcher.dropsCapabilities ? {} : { uid: uid.value, gid: uid.value })
        }
      )
      started.once("error", failed)
      started.once("spawn", () => resume(Effect.succeed(started)))
      // Subscribed in the tick of the spawn, so that no exit is missed.
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
