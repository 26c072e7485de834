import { Clock, Deferred, Duration, Effect, Option } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { LiveProcesses } from "./LiveProcesses.ts"
import type { Program } from "./Program.ts"
import type { ProgramExit } from "./RestartDecision.ts"
import { type Readable, Transform, type Writable } from "node:stream"

/** Longer lines are split, in characters. */
const maximumLineLength = 64 * 1024

/** Emits complete lines only, so that outputs of programs do not interleave within lines. */
const makeLineTransform = () => {
  let rest = ""
  return new Transform({
    decodeStrings: false,
    transform(chunk: string, _encoding, done) {
      rest += chunk
      const end = rest.length > maximumLineLength ? rest.length : rest.lastIndexOf("\n") + 1
      const lines = rest.slice(0, end)
      rest = rest.slice(end)
      done(null, lines === "" ? undefined : lines)
    },
    flush(done) {
      done(null, rest === "" ? undefined : `${rest}\n`)
    }
  })
}

/** Forwards lines with back-pressure. */
export const forwardLines = (from: Readable, to: Writable): Transform => {
  const lines = from.setEncoding("utf8").pipe(makeLineTransform())
  lines.pipe(to, { end: false })
  return lines
}

type Ending = Omit<ProgramExit, "ranFor">

interface RunningProgram {
  readonly child: ChildProcess
  readonly ended: Deferred.Deferred<Ending>
}

const launch = Effect.fn("ChildProgram.launch")(function* (program: Program) {
  const ended = yield* Deferred.make<Ending>()
  const child = spawn(process.execPath, [program.script], {
    env: program.environment,
    // In a new session, so that Ctrl-C at the terminal reaches it once, through the supervisor.
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"]
  })
  child.once("error", (cause) => Deferred.unsafeDone(ended, Effect.succeed({ code: -1, description: cause.message })))
  child.once("exit", (code, signal) =>
    Deferred.unsafeDone(
      ended,
      Effect.succeed({ code: code ?? -1, description: code === null ? `signal ${signal}` : `exit code ${code}` })
    )
  )
  if (child.stdout !== null) forwardLines(child.stdout, process.stdout)
  if (child.stderr !== null) forwardLines(child.stderr, process.stdout)
  if (child.pid !== undefined) yield* (yield* LiveProcesses).add(child.pid, "SIGKILL")
  return { child, ended } satisfies RunningProgram
})

/** Time after the drain to end instances and close connections. */
const stopGrace = Duration.seconds(15)

const stop = Effect.fn("ChildProgram.stop")(function* (program: Program, { child, ended }: RunningProgram) {
  if (!(yield* Deferred.isDone(ended))) {
    child.kill("SIGTERM")
    const limit = Duration.sum(program.drain, stopGrace)
    // A finalizer is uninterruptible, but the timeout requires an interruptible region.
    const inTime = yield* Effect.interruptible(Deferred.await(ended)).pipe(Effect.timeoutOption(limit))
    if (Option.isNone(inTime)) {
      yield* Effect.logWarning(`The ${program.name} did not end within ${Duration.format(limit)} and is killed`)
      child.kill("SIGKILL")
      yield* Deferred.await(ended)
    }
  }
  if (child.pid !== undefined) yield* (yield* LiveProcesses).remove(child.pid)
})

/** Runs a program until it exits. Interruption stops it with SIGTERM and its drain limit. */
export const runChildProgram = (
  program: Program,
  onStarted: (pid: number) => Effect.Effect<void>
): Effect.Effect<ProgramExit, never, LiveProcesses> =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    const ending = yield* Effect.acquireUseRelease(
      launch(program),
      ({ child, ended }) => Effect.zipRight(onStarted(child.pid ?? 0), Deferred.await(ended)),
      (running) => stop(program, running)
    )
    return { ...ending, ranFor: Duration.millis((yield* Clock.currentTimeMillis) - began) }
  }).pipe(Effect.withSpan("ChildProgram.run", { attributes: { program: program.name } }))
