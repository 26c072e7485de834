import { assert, beforeAll } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { join } from "node:path"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { ada, describeDrivers, makeInstanceSpec, testDriverIf } from "./InstanceDriverHosts.ts"

describeDrivers("InstanceDriver runtime versions", (host) => {
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

  /** A directory whose owner's instance has run the first version. */
  const begun = Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const { runtimeVersion } = yield* Effect.scoped(
      Effect.flatMap(opened(directory, one), (driver) => driver.start(makeInstanceSpec(ada)))
    )
    assert.strictEqual(runtimeVersion, "1.0.0")
    return directory
  })

  testDriverIf(host.runsPrograms, "keeps an instance on its version over starts, until it is updated", () =>
    Effect.gen(function* () {
      const directory = yield* begun
      yield* Effect.scoped(
        Effect.gen(function* () {
          const driver = yield* opened(directory, two)
          assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion, "1.0.0")
          yield* driver.stop(ada)
          assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion, "1.0.0")
          const identity = yield* host.processIdOf(directory, ada)
          const updated = yield* driver.update(makeInstanceSpec(ada), { fresh: false }, accepted)
          assert.strictEqual(updated.runtimeVersion, "2.0.0")
          assert.isFalse(yield* host.isRunning(identity))
          assert.deepStrictEqual(yield* driver.inspect(ada), Option.some(updated))
        })
      )
      const driver = yield* opened(directory, one)
      assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion, "2.0.0")
    })
  )

  testDriverIf(
    host.runsPrograms,
    "leaves no instance after a failed start of a new version, and starts the version before next",
    () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, broken)
        yield* driver.start(makeInstanceSpec(ada))
        const failure = yield* Effect.flip(driver.update(makeInstanceSpec(ada), { fresh: false }, accepted))
        assert.include(failure.reason, "this one does not come up")
        assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
        assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion, "1.0.0")
      })
  )

  testDriverIf(
    host.runsPrograms,
    "leaves no instance after a rejected version, and starts the version before next",
    () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, two)
        const failure = yield* Effect.flip(
          driver.update(makeInstanceSpec(ada), { fresh: false }, ({ runtimeVersion }) => Effect.fail(runtimeVersion))
        )
        assert.strictEqual(failure, "2.0.0")
        assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
        assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion, "1.0.0")
      })
  )

  testDriverIf(host.runsPrograms, "adopts or reverts an update that was interrupted before its acceptance", () =>
    Effect.gen(function* () {
      const directory = yield* begun
      const driver = yield* opened(directory, two)
      const exit = yield* Effect.exit(driver.update(makeInstanceSpec(ada), { fresh: false }, () => Effect.interrupt))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).runtimeVersion, "1.0.0")
    })
  )

  testDriverIf(host.runsPrograms, "keeps only the files of agents in a fresh update", () =>
    Effect.gen(function* () {
      const directory = yield* begun
      const driver = yield* opened(directory, two)
      yield* driver.start(makeInstanceSpec(ada))
      const file = join(runtimeAgentsDirectory, "agt_1", "files", "notes.txt")
      yield* host.writeFile(directory, ada, "state", "kept")
      yield* host.writeFile(directory, ada, file, "buy rope")
      yield* driver.update(makeInstanceSpec(ada), { fresh: false }, accepted)
      assert.deepStrictEqual(yield* host.readFile(directory, ada, "state"), Option.some("kept"))
      yield* driver.update(makeInstanceSpec(ada), { fresh: true }, accepted)
      assert.deepStrictEqual(yield* host.readFile(directory, ada, "state"), Option.none())
      assert.deepStrictEqual(yield* host.readFile(directory, ada, file), Option.some("buy rope"))
    })
  )
})
