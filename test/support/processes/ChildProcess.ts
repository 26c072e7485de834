import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { bundleProgram } from "../RuntimeBundle.ts"

/** A program of this folder as one JavaScript file. */
export const compileProgram = (program: string) =>
  Effect.promise(() => bundleProgram(join(import.meta.dirname, program)))

/** Starts it and gives its first line of output; it is killed with the scope at the latest. */
export const startProgram = (file: string, environment: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [file], { env: environment, stdio: ["ignore", "pipe", "inherit"] })),
    killProcess
  )

export const readFirstLine = (child: ChildProcess): Effect.Effect<string, Error> =>
  Effect.async((resume) => {
    if (child.stdout === null) return resume(Effect.fail(new Error("no output to read")))
    createInterface({ input: child.stdout }).once("line", (line) => resume(Effect.succeed(line)))
    child.once("exit", (code) => resume(Effect.fail(new Error(`ended with ${code} before it said anything`))))
  })

/** kill -9, and waits until the process is gone. */
export const killProcess = (child: ChildProcess): Effect.Effect<void> =>
  Effect.async((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })
