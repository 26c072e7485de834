import { root } from "@berth/test/e2e/Programs"
import { Command } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { Data, Effect } from "effect"
import { createHash } from "node:crypto"
import { access, cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** The packages of what Berth is measured beside could not be had. */
export class PortkeyIsNotInstalled extends Data.TaggedError("PortkeyIsNotInstalled")<{ readonly reason: string }> {
  override get message() {
    return `Portkey's gateway could not be installed: ${this.reason}`
  }
}

const source = join(root, "bench", "rivals", "portkey")
/** Beside the bundles of the bench, out of the workspace's own packages. */
const place = join(root, "dist", "bench", "portkey")
const stamp = join(place, ".installed")
const files = ["package.json", "package-lock.json", "server.mjs"]

const isThere = (wanted: string) =>
  Effect.promise(() =>
    access(stamp).then(
      async () => (await readFile(stamp, "utf8")) === wanted,
      () => false
    )
  )

// Its one script would patch packages that are not installed; nothing of what it needs has one.
const install = Command.make("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts").pipe(
  Command.workingDirectory(place),
  Command.exitCode,
  Effect.provide(NodeContext.layer),
  Effect.mapError(({ message }) => new PortkeyIsNotInstalled({ reason: message })),
  Effect.filterOrFail(
    (code) => code === 0,
    (code) => new PortkeyIsNotInstalled({ reason: `npm ci ended with ${code}` })
  )
)

/** Installs it when its lockfile is new; only whoever measures it pays for it. */
export const installPortkey = Effect.gen(function* () {
  const lock = yield* Effect.promise(() => readFile(join(source, "package-lock.json")))
  const wanted = createHash("sha256").update(lock).digest("hex")
  yield* Effect.promise(async () => {
    await mkdir(place, { recursive: true })
    for (const file of files) await cp(join(source, file), join(place, file))
  })
  if (yield* isThere(wanted)) return
  yield* Effect.logInfo("Installing Portkey's gateway (only when its lockfile is new)")
  yield* install
  yield* Effect.promise(() => writeFile(stamp, wanted))
})
