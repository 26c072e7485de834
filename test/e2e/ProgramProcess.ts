import { Data, Deferred, Effect, Option } from "effect"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { join } from "node:path"
import { eventually } from "../support/Eventually.ts"
import { makeShellEnvironment, root } from "./BerthProcess.ts"
import { showLogsOnFailure } from "./RecentLogs.ts"

/** Builds the programs when a source has changed. */
export const build = Effect.async<void>((resume) => {
  execFile(process.execPath, [join(root, "scripts", "build.mjs")], (error) =>
    resume(error === null ? Effect.void : Effect.die(error))
  )
})

export class ProgramStartFailed extends Data.TaggedError("ProgramStartFailed")<{ readonly logs: string }> {
  override get message() {
    return `The program did not start. It said:\n${this.logs}`
  }
}

export interface Program {
  readonly pid: number
  readonly end: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Output so far. */
  readonly logs: Effect.Effect<string>
}

const ended = (child: ChildProcess, gone: Deferred.Deferred<void>, signal: NodeJS.Signals) =>
  Effect.suspend(() => {
    child.kill(signal)
    return Effect.timeoutOption(Effect.interruptible(Deferred.await(gone)), "15 seconds")
  }).pipe(
    Effect.tap((end) => Effect.sync(() => Option.isNone(end) && child.kill("SIGKILL"))),
    Effect.asVoid
  )

/** Runs one program of the build until its scope closes, and returns when it is ready. */
export const run = (
  name: "server" | "worker",
  environment: Readonly<Record<string, string>>,
  healthPort: number,
  directory = root
) =>
  Effect.gen(function* () {
    const gone = yield* Deferred.make<void>()
    const output: Array<string> = []
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const started = spawn(process.execPath, [join(root, "dist", `${name}.mjs`)], {
          stdio: ["ignore", "pipe", "pipe"],
          cwd: directory,
          env: { ...makeShellEnvironment(), ...environment }
        })
        started.stdout.setEncoding("utf8").on("data", (text: string) => output.push(text))
        started.stderr.setEncoding("utf8").on("data", (text: string) => output.push(text))
        started.once("exit", () => Deferred.unsafeDone(gone, Effect.void))
        return started
      }),
      (started) => ended(started, gone, "SIGTERM")
    )
    const failed = Effect.suspend(() => new ProgramStartFailed({ logs: output.join("") }))
    const isReady = Effect.tryPromise((signal) =>
      fetch(`http://127.0.0.1:${healthPort}/health/ready`, { signal })
    ).pipe(
      Effect.map(({ status }) => status === 200),
      Effect.orElseSucceed(() => false)
    )
    showLogsOnFailure(`${name} ${child.pid}`, () => output.join(""))
    const ready = eventually(isReady, (yes) => yes, { description: `the ${name} is ready`, timeout: "90 seconds" })
    yield* Effect.raceFirst(Effect.orDie(ready), Effect.zipRight(Deferred.await(gone), failed))
    return {
      pid: child.pid ?? 0,
      end: (signal) => ended(child, gone, signal),
      logs: Effect.sync(() => output.join(""))
    } satisfies Program
  })
