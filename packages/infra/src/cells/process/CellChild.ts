import { CellEnvironment } from "@berth/api/cell/CellContract"
import type { CellSpec } from "@berth/domain/instances/InstanceDriver"
import { Data, Deferred, Effect, Option, Redacted } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { CellPlace } from "./CellPlace.ts"
import { smallEnvironment } from "./NodeFlags.ts"
import type { ProcessEnd } from "./LastWords.ts"

export class CellWasNotSpawned extends Data.TaggedError("CellWasNotSpawned")<{ readonly reason: string }> {
  override get message() {
    return `the process was not started (${this.reason})`
  }
}

/** A process of our own. */
export interface CellChild {
  readonly pid: number
  readonly end: Deferred.Deferred<ProcessEnd>
}

export interface SpawnOptions {
  readonly node: string
  readonly flags: ReadonlyArray<string>
  readonly bundle: string
  readonly place: CellPlace
  readonly uid: Option.Option<number>
  readonly otlpEndpoint: string | undefined
  /** File descriptor that takes what the cell says. */
  readonly output: number
}

/** All that a cell gets to know; nothing of our own environment, which may hold keys. */
export const environment = (
  spec: CellSpec,
  home: string,
  otlpEndpoint: string | undefined
): Readonly<Record<string, string>> => ({
  [CellEnvironment.token]: Redacted.value(spec.token),
  [CellEnvironment.backendUrl]: spec.backendUrl,
  [CellEnvironment.directory]: home,
  [CellEnvironment.memoryMb]: String(spec.memoryMb),
  [CellEnvironment.diskMb]: String(spec.diskMb),
  ...smallEnvironment,
  ...(otlpEndpoint === undefined
    ? {}
    : { [CellEnvironment.otlpEndpoint]: otlpEndpoint, [CellEnvironment.serviceName]: "berth-cell" })
})

/** No file of a cell grows longer than this, its log included, in the units of POSIX `ulimit`: blocks of 512 bytes. */
const longestFile = (64 * 1024 * 1024) / 512

/**
 * Limits that hold also when this backend is not there to look: on the length of a file, and no core, which would hold
 * secrets. The engine cannot set them; the shell sets them and becomes the program. What a shell adds of its own to the
 * environment goes.
 */
const limits = `ulimit -c 0; ulimit -f ${longestFile}; unset PWD OLDPWD SHLVL; exec "$@"`

/** Starts the process in a session of its own: neither a Ctrl-C nor the backend's end reaches it. */
export const spawnCell = (spec: CellSpec, options: SpawnOptions): Effect.Effect<CellChild, CellWasNotSpawned> =>
  Effect.gen(function* () {
    const end = yield* Deferred.make<ProcessEnd>()
    const child = yield* Effect.async<ChildProcess, CellWasNotSpawned>((resume) => {
      const failed = (cause: unknown) =>
        resume(new CellWasNotSpawned({ reason: cause instanceof Error ? cause.message : String(cause) }))
      try {
        const started = spawn("/bin/sh", ["-c", limits, "cell", options.node, ...options.flags, options.bundle], {
          cwd: options.place.home,
          detached: true,
          env: environment(spec, options.place.home, options.otlpEndpoint),
          stdio: ["ignore", options.output, options.output],
          ...Option.match(options.uid, { onNone: () => ({}), onSome: (uid) => ({ uid, gid: uid }) })
        })
        started.once("error", failed)
        started.once("spawn", () => resume(Effect.succeed(started)))
        // Listened to from the first moment on, and for as long as we run: who misses it leaves no zombie, but learns nothing.
        started.once("exit", (code, signal) => {
          Deferred.unsafeDone(end, Effect.succeed({ code, signal }))
        })
        started.unref()
      } catch (cause) {
        failed(cause)
      }
    })
    return child.pid === undefined
      ? yield* new CellWasNotSpawned({ reason: "it has no number" })
      : { pid: child.pid, end }
  })
