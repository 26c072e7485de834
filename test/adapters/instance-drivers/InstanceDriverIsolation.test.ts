import { assert } from "@effect/vitest"
import { Duration, Effect, Fiber, Option } from "effect"
import { stat } from "node:fs/promises"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  bob,
  awaitFirstExit,
  describeDrivers,
  type InstanceDriverHost,
  waitUntilEffect,
  makeInstanceSpec,
  testDriverIf
} from "./InstanceDriverHosts.ts"

const intervals = { liveness: "100 millis", logs: "100 millis", disk: "200 millis", health: "200 millis" } as const

const diskBehaviors: ReadonlyArray<readonly [string, RegExp]> = [
  ["fills its disk", /it holds \d+ MB on the disk, more than the 8 MB it may/],
  ["fills its disk with deleted files", /it holds \d+ MB on the disk, more than the 8 MB it may/],
  ["fills its disk with small files", /it holds \d+ MB on the disk, more than the 8 MB it may/]
]

/** Ends after fifteen seconds, like a program that ignores SIGTERM; both tests wait concurrently. */
const hanging = "hangs"

/** Behaviors of the runtime, and the reasons of their ends. */
const makeHostileBehaviors = (host: InstanceDriverHost): ReadonlyArray<readonly [string, RegExp]> => [
  ["leaks memory", host.memoryReason],
  ["crashes", /this one crashes/],
  ...(host.endsDiskFloods ? diskBehaviors : []),
  ...(host.endsLogFloods ? [["floods its log", /it floods its log/] as const] : []),
  [hanging, /it does not respond/]
]

const sizeOf = (file: string) =>
  stat(file).then(
    ({ size }) => size,
    () => 0
  )

describeDrivers("InstanceDriver with a hostile instance", (host) => {
  const hostile = (behavior: string) =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const program = yield* Effect.promise(() => bundleHostileRuntime(behavior))
      const driver = yield* host.driver({ directory, program, onClose: "stop", intervals })
      return { directory, driver }
    })
  const small = makeInstanceSpec(ada, { memoryMb: 64, diskMb: 8 })

  for (const [behavior, reason] of makeHostileBehaviors(host))
    testDriverIf(
      host.runsPrograms,
      `ends one that ${behavior}, with the reason in its log`,
      () =>
        Effect.gen(function* () {
          const { directory, driver } = yield* hostile(behavior)
          const exit = yield* awaitFirstExit(driver)
          yield* driver.start(small)
          const identity = yield* host.processIdOf(directory, ada)
          const exited = yield* exit
          assert.strictEqual(exited.owner, ada)
          assert.match(exited.reason, reason)
          yield* waitUntilEffect(Effect.map(host.isRunning(identity), (isRunning) => !isRunning))
          assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
          const { entries } = yield* driver.logs(ada, { limit: 1, level: "error" })
          assert.strictEqual(entries[0]?.source, "host")
          assert.match(entries[0]?.message ?? "", reason)
        }),
      { concurrent: behavior === hanging }
    )

  testDriverIf(
    host.runsPrograms,
    "kills one that ignores SIGTERM, without delaying a neighbor",
    () =>
      Effect.gen(function* () {
        const { directory, driver } = yield* hostile("ignores its end")
        yield* driver.start(small)
        const identity = yield* host.processIdOf(directory, ada)
        const stopping = yield* Effect.fork(Effect.timed(driver.stop(ada)))
        yield* driver.start(makeInstanceSpec(bob))
        assert.isTrue(yield* host.isRunning(identity))
        const [took] = yield* Fiber.join(stopping)
        yield* waitUntilEffect(Effect.map(host.isRunning(identity), (isRunning) => !isRunning))
        assert.isAbove(Duration.toSeconds(took), 5)
      }),
    { concurrent: true }
  )

  testDriverIf(
    host.runsPrograms,
    "warns of one that uses most of its memory before its end, with figures in its log",
    () =>
      Effect.gen(function* () {
        if (!host.warnsOfMemory) return
        const { directory, driver } = yield* hostile("uses most of its memory")
        yield* driver.start(makeInstanceSpec(ada))
        const warnings = driver.logs(ada, { limit: 5, level: "warning" })
        yield* waitUntilEffect(Effect.map(warnings, ({ total }) => total > 0))
        const { entries } = yield* warnings
        assert.strictEqual(entries[0]?.source, "host")
        assert.match(
          entries[0]?.message ?? "",
          /^The instance uses \d+ of its 256 MB of memory \(\d+ %\)\. It is ended when/
        )
        assert.isTrue(yield* host.isRunning(yield* host.processIdOf(directory, ada)))
      })
  )

  testDriverIf(Option.isSome(host.home), "bounds the log file of one that floods it unmonitored", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const program = yield* Effect.promise(() => bundleHostileRuntime("floods its log"))
      const driver = yield* host.driver({
        directory,
        program,
        onClose: "stop",
        intervals: { ...intervals, logs: "1 hour" }
      })
      yield* driver.start(small)
      const held = Effect.promise(async () => {
        const sizes = await Promise.all((await host.logFiles(directory, ada)).map(sizeOf))
        return sizes.reduce((sum, size) => sum + size, 0)
      })
      // A rotated log is full at half of its limit.
      const full = host.endsLogFloods ? host.maximumLogBytes : host.maximumLogBytes / 2
      yield* waitUntilEffect(Effect.map(held, (size) => size >= full))
      assert.isAtMost(yield* held, host.maximumLogBytes)
    })
  )

  if (host.endsDiskFloods)
    testDriverIf(host.runsPrograms, "keeps one that started with a full disk, until it grows", () =>
      Effect.gen(function* () {
        const { directory, driver } = yield* hostile("fills its disk")
        const exit = yield* awaitFirstExit(driver)
        yield* driver.start(small)
        yield* exit
        const quiet = yield* host.driver({
          directory,
          program: yield* Effect.promise(() => bundleHostileRuntime("behaves")),
          onClose: "stop",
          intervals
        })
        yield* quiet.update(small, { fresh: false }, () => Effect.void)
        const identity = yield* host.processIdOf(directory, ada)
        const grown = yield* Effect.option(Effect.timeout(Effect.flatten(awaitFirstExit(quiet)), Duration.seconds(2)))
        assert.isTrue(Option.isNone(grown))
        assert.isTrue(yield* host.isRunning(identity))
      })
    )
})
