import { root } from "@berth/test/e2e/BerthProcess"
import { Command } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { Data, Effect } from "effect"
import { createHash } from "node:crypto"
import { access, cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** The packages of a competitor could not be installed. */
class CompetitorNotInstalled extends Data.TaggedError("CompetitorNotInstalled")<{
  readonly name: string
  readonly reason: string
}> {
  override get message() {
    return `${this.name} could not be installed: ${this.reason}`
  }
}

/** A server that Berth is compared with. */
interface Competitor {
  readonly name: string
  /** Its folder in `bench/rivals`. */
  readonly folder: string
  readonly options?: ReadonlyArray<string>
}

const files = ["package.json", "package-lock.json", "server.mjs"]

/** Installs a competitor when its lockfile has changed, only for scenarios that measure it. */
const installCompetitor = ({ folder, name, options = [] }: Competitor) =>
  Effect.gen(function* () {
    const source = join(root, "bench", "rivals", folder)
    // Outside the workspace, beside the bench bundles.
    const place = join(root, "dist", "bench", folder)
    const stamp = join(place, ".installed")
    const lock = yield* Effect.promise(() => readFile(join(source, "package-lock.json")))
    const wanted = createHash("sha256").update(lock).digest("hex")
    yield* Effect.promise(async () => {
      await mkdir(place, { recursive: true })
      for (const file of files) await cp(join(source, file), join(place, file))
    })
    const isThere = yield* Effect.promise(() =>
      access(stamp).then(
        async () => (await readFile(stamp, "utf8")) === wanted,
        () => false
      )
    )
    if (isThere) return
    yield* Effect.logInfo(`Installing ${name} (only when its lockfile has changed)`)
    yield* Command.make("npm", "ci", "--no-audit", "--no-fund", ...options).pipe(
      Command.workingDirectory(place),
      Command.exitCode,
      Effect.provide(NodeContext.layer),
      Effect.mapError(({ message }) => new CompetitorNotInstalled({ name, reason: message })),
      Effect.filterOrFail(
        (code) => code === 0,
        (code) => new CompetitorNotInstalled({ name, reason: `npm ci ended with ${code}` })
      )
    )
    yield* Effect.promise(() => writeFile(stamp, wanted))
  })

export const installBetterAuth = installCompetitor({ name: "better-auth", folder: "better-auth" })

// Its only install script patches packages that are not installed.
export const installPortkey = installCompetitor({
  name: "Portkey's gateway",
  folder: "portkey",
  options: ["--ignore-scripts"]
})
