import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { bundleProgram } from "../RuntimeBundle.ts"

/** Compiles a program of this folder to one JavaScript file. */
export const compileProgram = (program: string) =>
  Effect.promise(() => bundleProgram(join(import.meta.dirname, program)))

/** Starts a program, below the commands of `wrapper`; killed with the scope at the latest. */
export const startProgram = (file: string, environment: Record<string, string>, wrapper: ReadonlyArray<string> = []) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const [command, ...args] = [...wrapper, process.execPath, file]
      return spawn(command ?? process.execPath, args, { env: environment, stdio: ["ignore", "pipe", "inherit"] })
    }),
    killProcess
  )

export const readFirstLine = (child: ChildProcess): Effect.Effect<string, Error> =>
  Effect.async((resume) => {
    if (child.stdout === null) return resume(Effect.fail(new Error("no standard output")))
    createInterface({ input: child.stdout }).once("line", (line) => resume(Effect.succeed(line)))
    child.once("exit", (code) => resume(Effect.fail(new Error(`exited with ${code} before its first line`))))
  })

/** Environment of a program whose clock is ahead by this many milliseconds. */
export const runClockAhead = (millis: number) => {
  const preload = `const now = Date.now; Date.now = () => now() + ${millis}`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload)}` }
}

/** The output lines so far. */
export const collectLines = (child: ChildProcess): Effect.Effect<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  if (child.stdout !== null) createInterface({ input: child.stdout }).on("line", (line) => lines.push(line))
  return Effect.sync(() => lines)
}

export const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null

/** Waits for the exit; returns the exit code or signal. */
export const awaitExit = (child: ChildProcess): Effect.Effect<number | NodeJS.Signals | null> =>
  Effect.async((resume) => {
    const report = () => resume(Effect.succeed(child.exitCode ?? child.signalCode))
    if (isRunning(child)) child.once("exit", report)
    else report()
  })

/** Sends SIGKILL and waits for the exit. */
export const killProcess = (child: ChildProcess): Effect.Effect<void> =>
  Effect.suspend(() => {
    child.kill("SIGKILL")
    return Effect.asVoid(awaitExit(child))
  })
