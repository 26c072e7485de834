import { eventually } from "@berth/test/support/Eventually"
import { Context, Effect, Option, Schema } from "effect"
import { existsSync } from "node:fs"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { CpuProfile, renderFlameGraph } from "../report/FlameGraph.ts"

/** Directory of the processor profiles; without it, nothing is profiled. */
export class ProfileDirectory extends Context.Reference<ProfileDirectory>()("@berth/bench/ProfileDirectory", {
  defaultValue: () => Option.none<string>()
}) {}

/** Environment of a process that can be profiled. */
export const profilingEnvironment = Effect.map(
  ProfileDirectory,
  Option.match({
    onNone: (): Readonly<Record<string, string>> => ({}),
    onSome: (directory) => {
      // Bundles are in one folder.
      const hook = new URL("./ProfiledProcess.mjs", import.meta.url)
      hook.searchParams.set("directory", directory)
      return { NODE_OPTIONS: `--import ${hook.href}` }
    }
  })
)

const writeProfile = (directory: string, name: string, pid: number, work: Effect.Effect<unknown, Error>) =>
  Effect.gen(function* () {
    const written = join(directory, `${pid}.cpuprofile`)
    const signal = Effect.sync(() => process.kill(pid, "SIGUSR2"))
    yield* Effect.promise(() => mkdir(directory, { recursive: true }))
    yield* signal
    yield* Effect.ensuring(work, signal)
    yield* eventually(
      Effect.sync(() => existsSync(written)),
      (exists) => exists,
      { description: written }
    )
    const base = join(directory, name.replaceAll(/[^A-Za-z0-9]+/g, "-").replaceAll(/^-|-$/g, ""))
    yield* Effect.promise(() => rename(written, `${base}.cpuprofile`))
    const text = yield* Effect.promise(() => readFile(`${base}.cpuprofile`, "utf8"))
    const profile = yield* Schema.decode(Schema.parseJson(CpuProfile))(text)
    yield* Effect.promise(() => writeFile(`${base}.svg`, renderFlameGraph(name, profile)))
  })

/** Profiles a process while the work runs; writes the profile and its flame graph. */
export const profile = (name: string, pid: number, work: Effect.Effect<unknown, Error>): Effect.Effect<void> =>
  Effect.flatMap(
    ProfileDirectory,
    Option.match({
      onNone: () => Effect.void,
      onSome: (directory) =>
        Effect.catchAll(writeProfile(directory, name, pid, work), (error) =>
          Effect.logWarning(`${name} is not profiled`, error)
        )
    })
  )
