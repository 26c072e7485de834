import { assert, beforeAll } from "@effect/vitest"
import { Effect, Option } from "effect"
import { execFileSync } from "node:child_process"
import { closeSync, openSync, rmSync, writeSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { describeWithTool } from "../../support/RequiredTools.ts"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  awaitFirstExit,
  makeInstanceSpec,
  processHost,
  testDriver,
  waitUntilEffect
} from "./InstanceDriverHosts.ts"

const mounts = {
  name: "mount",
  present: process.platform === "linux" && process.getuid?.() === 0,
  missingReason: "needs root on Linux"
}

/** A separate disk, with functions that fill and empty it. */
const smallDisk = Effect.gen(function* () {
  const directory = join(yield* temporaryDirectory, "disk")
  yield* Effect.promise(() => mkdir(directory))
  yield* Effect.acquireRelease(
    Effect.sync(() => execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", directory])),
    () => Effect.sync(() => execFileSync("umount", ["--lazy", directory]))
  )
  const filler = join(directory, ".filler")
  const fill = () => {
    const file = openSync(filler, "a")
    for (const size of [64 * 1024, 512])
      try {
        for (;;) writeSync(file, Buffer.alloc(size, 1))
      } catch {
        // The disk is full.
      }
    closeSync(file)
  }
  return { directory, fill, empty: () => rmSync(filler) }
})

describeWithTool(mounts, "ProcessInstanceDriver on a full disk", () => {
  let program = ""
  beforeAll(async () => {
    program = await bundleHostileRuntime("behaves")
  })

  testDriver(
    "ProcessInstanceDriver.start on a full disk blames the host, leaves no process, and succeeds afterwards",
    () =>
      Effect.gen(function* () {
        const { directory, empty, fill } = yield* smallDisk
        const driver = yield* processHost.driver({ directory, program, onClose: "stop" })
        fill()
        const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
        assert.strictEqual(failure._tag, "InstanceHostUnavailable")
        assert.match(failure.reason, /failed \(ENOSPC\)\. The disk is full: free space on it\.$/)
        assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
        empty()
        yield* driver.start(makeInstanceSpec(ada))
        const pid = yield* processHost.processIdOf(directory, ada)

        fill()
        const exit = yield* awaitFirstExit(driver)
        yield* processHost.kill(pid)
        assert.include((yield* exit).reason, "SIGKILL")
        yield* waitUntilEffect(Effect.map(processHost.isRunning(pid), (isRunning) => !isRunning))
        yield* driver.stop(ada)
        yield* driver.remove(ada)
        assert.deepStrictEqual(yield* driver.listOwners, [])
      })
  )
})
