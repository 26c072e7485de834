import { describe, expect } from "@effect/vitest"
import { Duration, Effect, Fiber, Option } from "effect"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  bob,
  waitUntil,
  awaitFirstExit,
  instanceDriverHosts,
  waitUntilEffect,
  makeInstanceSpec,
  testDriver
} from "./InstanceDriverHosts.ts"

const intervals = { life: "100 millis", logs: "100 millis", disk: "200 millis", health: "200 millis" } as const

/** What a cell does, and why it is ended then. */
const hostileBehaviors: ReadonlyArray<readonly [string, RegExp]> = [
  ["leaks memory", /it holds \d+ MB, more than the 64 MB it may/],
  ["hangs", /it does not answer/],
  ["crashes", /this one crashes/],
  ["fills its disk", /it holds \d+ MB on the disk, more than the 8 MB it may/],
  ["floods its log", /it floods its log/]
]

const sizesIn = (directory: string) =>
  Effect.promise(async () => {
    const names = await readdir(directory)
    return Promise.all(names.map(async (name) => (await stat(join(directory, name))).size))
  })

for (const host of instanceDriverHosts)
  describe(`InstanceDriver, hostile cells: ${host.name}`, () => {
    const hostile = (behaviour: string) =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const program = yield* Effect.promise(() => bundleHostileRuntime(behaviour))
        const driver = yield* host.driver({ directory, program, onClose: "stop", intervals })
        return { directory, driver }
      })
    const small = makeInstanceSpec(ada, { memoryMb: 64, diskMb: 8 })

    for (const [behaviour, reason] of hostileBehaviors)
      testDriver(`one that ${behaviour} is gone soon, with the reason in its log`, () =>
        Effect.gen(function* () {
          const { directory, driver } = yield* hostile(behaviour)
          const exit = yield* awaitFirstExit(driver)
          yield* driver.start(small)
          const identity = yield* host.processIdOf(directory, ada)
          const told = yield* exit
          expect(told.owner).toBe(ada)
          expect(told.reason).toMatch(reason)
          yield* waitUntil(() => !host.isRunning(identity))
          expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
          const { entries } = yield* driver.logs(ada, { limit: 1, level: "error" })
          expect(entries[0]?.source).toBe("host")
          expect(entries[0]?.message).toMatch(reason)
        })
      )

    testDriver("one that floods its log while nobody looks fills a file of a bounded length, and no more", () =>
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
        const held = Effect.map(sizesIn(host.directories(directory, ada).all), (sizes) => Math.max(...sizes))
        yield* waitUntilEffect(Effect.map(held, (size) => size >= host.maxFileBytes))
        expect(yield* held).toBe(host.maxFileBytes)
      })
    )

    testDriver("one that began with a full disk runs on, but may not grow", () =>
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
        expect(Option.isNone(grown)).toBe(true)
        expect(host.isRunning(identity)).toBe(true)
      })
    )

    testDriver("one that ignores its end is gone all the same, and a neighbour is not kept waiting", () =>
      Effect.gen(function* () {
        const { directory, driver } = yield* hostile("ignores its end")
        yield* driver.start(small)
        const identity = yield* host.processIdOf(directory, ada)
        const stopping = yield* Effect.fork(Effect.timed(driver.stop(ada)))
        yield* driver.start(makeInstanceSpec(bob))
        expect(host.isRunning(identity)).toBe(true)
        const [took] = yield* Fiber.join(stopping)
        yield* waitUntil(() => !host.isRunning(identity))
        expect(Duration.toSeconds(took)).toBeGreaterThan(5)
      })
    )
  })
