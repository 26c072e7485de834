import { beforeAll, describe, expect } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { ada, instanceDriverHosts, makeInstanceSpec, testDriver } from "./InstanceDriverHosts.ts"

for (const host of instanceDriverHosts)
  describe(`InstanceDriver, versions of the runtime: ${host.name}`, () => {
    let one = ""
    let two = ""
    let broken = ""
    beforeAll(async () => {
      one = await bundleHostileRuntime("behaves", "1.0.0")
      two = await bundleHostileRuntime("behaves", "2.0.0")
      broken = await bundleHostileRuntime("does not come up", "3.0.0")
    })

    const opened = (directory: string, program: string) => host.driver({ directory, program, onClose: "stop" })
    const accepted = () => Effect.void

    /** A directory whose owner's cell has run the first version. */
    const begun = Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { runtimeVersion } = yield* Effect.scoped(
        Effect.flatMap(opened(directory, one), (driver) => driver.start(makeInstanceSpec(ada)))
      )
      expect(runtimeVersion).toBe("1.0.0")
      return directory
    })

    testDriver("a cell stays on its version, however often it is started, until it is updated", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        yield* Effect.scoped(
          Effect.gen(function* () {
            const driver = yield* opened(directory, two)
            expect((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion).toBe("1.0.0")
            yield* driver.stop(ada)
            expect((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion).toBe("1.0.0")
            const identity = yield* host.processIdOf(directory, ada)
            const updated = yield* driver.update(makeInstanceSpec(ada), { fresh: false }, accepted)
            expect(updated.runtimeVersion).toBe("2.0.0")
            expect(host.isRunning(identity)).toBe(false)
            expect(yield* driver.inspect(ada)).toStrictEqual(Option.some(updated))
          })
        )
        const driver = yield* opened(directory, one)
        expect((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion).toBe("2.0.0")
      })
    )

    testDriver("a version that does not come up leaves no cell, and the version before comes next", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, broken)
        yield* driver.start(makeInstanceSpec(ada))
        const failure = yield* Effect.flip(driver.update(makeInstanceSpec(ada), { fresh: false }, accepted))
        expect(failure.reason).toContain("this one does not come up")
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
        expect((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion).toBe("1.0.0")
      })
    )

    testDriver("a version that is not accepted leaves no cell, and the version before comes next", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, two)
        const failure = yield* Effect.flip(
          driver.update(makeInstanceSpec(ada), { fresh: false }, ({ runtimeVersion }) => Effect.fail(runtimeVersion))
        )
        expect(failure).toBe("2.0.0")
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
        expect((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion).toBe("1.0.0")
      })
    )

    testDriver(
      "an update that was cut off before it was accepted is followed by the version that runs, or the one before",
      () =>
        Effect.gen(function* () {
          const directory = yield* begun
          const driver = yield* opened(directory, two)
          const exit = yield* Effect.exit(
            driver.update(makeInstanceSpec(ada), { fresh: false }, () => Effect.interrupt)
          )
          expect(Exit.isInterrupted(exit)).toBe(true)
          expect((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion).toBe("1.0.0")
        })
    )

    testDriver("a fresh one begins with nothing but the files of its agents", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, two)
        yield* driver.start(makeInstanceSpec(ada))
        const note = join(host.directories(directory, ada).home, "state")
        yield* Effect.promise(() => writeFile(note, "kept"))
        const file = join(host.directories(directory, ada).home, runtimeAgentsDirectory, "agt_1", "files", "notes.txt")
        yield* Effect.promise(async () => {
          await mkdir(dirname(file), { recursive: true })
          await writeFile(file, "buy rope")
        })
        yield* driver.update(makeInstanceSpec(ada), { fresh: false }, accepted)
        expect(existsSync(note)).toBe(true)
        yield* driver.update(makeInstanceSpec(ada), { fresh: true }, accepted)
        expect(existsSync(note)).toBe(false)
        expect(readFileSync(file, "utf8")).toBe("buy rope")
      })
    )
  })
