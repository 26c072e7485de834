import { Effect } from "effect"
import { build } from "esbuild"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"

/** Where the bundle resolves its packages from. */
const home = join(import.meta.dirname, "../../../packages/infra/node_modules/.cache/test-programs")

/** A program of this folder as one JavaScript file: workspace code inside, packages outside. */
export const compileProgram = (program: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await mkdir(home, { recursive: true })
      const directory = await mkdtemp(join(home, "program-"))
      const file = join(directory, "program.mjs")
      await build({
        entryPoints: [join(import.meta.dirname, program)],
        outfile: file,
        bundle: true,
        platform: "node",
        format: "esm",
        plugins: [
          {
            name: "packages stay outside",
            setup: ({ onResolve }) =>
              onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
                kind === "entry-point" || path.startsWith("@berth/") ? undefined : { path, external: true }
              )
          }
        ]
      })
      return { directory, file }
    }),
    ({ directory }) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  ).pipe(Effect.map(({ file }) => file))

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
