import { runtimeAddressFile, RuntimeEnvironment } from "@berth/api/runtime/RuntimeEnvironment"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { root } from "../../../../test/e2e/BerthProcess.ts"
import { eventually } from "../../../../test/support/Eventually.ts"
import { temporaryDirectory } from "../../../../test/support/TemporaryDirectories.ts"
import { allocatorEnvironment, makeNodeFlags } from "../../src/instance-drivers/NodeFlags.ts"

const bundle = join(root, "dist", "runtime", "runtime.mjs")

/** Private memory in MiB of the built runtime once it listens. */
const measureStart = (memoryMb: number) =>
  Effect.gen(function* () {
    const home = yield* temporaryDirectory
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(
          process.execPath,
          [...makeNodeFlags({ permission: { switch: null, net: false }, memoryMb, bundle, home }), bundle],
          {
            stdio: "ignore",
            env: {
              [RuntimeEnvironment.token]: "token",
              [RuntimeEnvironment.backendUrl]: "http://127.0.0.1:9",
              [RuntimeEnvironment.directory]: home,
              [RuntimeEnvironment.socket]: join(home, "socket"),
              ...allocatorEnvironment
            }
          }
        )
      ),
      (child) =>
        Effect.promise(async () => {
          const exit = once(child, "exit")
          if (child.kill("SIGKILL")) await exit
        })
    )
    yield* eventually(
      Effect.sync(() => existsSync(join(home, runtimeAddressFile))),
      (isListening) => isListening
    )
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8")
    return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024
  })

describe("The compile cache of the runtime", () => {
  it.scopedLive.skipIf(process.platform !== "linux")(
    "The built runtime starts from its compile cache at any memory limit",
    () =>
      Effect.gen(function* () {
        // 20 MiB, or 32 if V8 compiles the program.
        assert.isBelow(yield* measureStart(256), 26)
        assert.isBelow(yield* measureStart(4096), 26)
      })
  )

  it("The built runtime loads less than 1 MB of program, by an entry without libraries", () => {
    assert.isBelow(statSync(bundle).size, 4_000)
    assert.isBelow(statSync(join(root, "dist", "runtime", "program.cjs")).size, 1_000_000)
  })

  it("The image of the runtime makes its compile cache with the flags of the drivers", () => {
    const file = fileURLToPath(new URL("../../src/instance-drivers/node-size-flags.json", import.meta.url))
    const flags = readFileSync(file, "utf8").trim().slice(1, -1)
    assert.include(readFileSync(join(root, "deploy/runtime/Dockerfile"), "utf8"), `RUN ["node", ${flags}, `)
  })
})
