import { describe, expect } from "@effect/vitest"
import { Duration, Effect, Fiber, Option } from "effect"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { hostileCell } from "../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../support/Workplace.ts"
import { ada, bob, eventually, firstExit, hosts, pollUntil, specOf, test } from "./InstanceHosts.ts"

const intervals = { life: "100 millis", logs: "100 millis", disk: "200 millis", health: "200 millis" } as const

/** What a cell does, and why it is ended then. */
const evils: ReadonlyArray<readonly [string, RegExp]> = [
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

for (const host of hosts)
  describe(`InstanceDriver, hostile cells: ${host.name}`, () => {
    const hostile = (behaviour: string) =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const program = yield* Effect.promise(() => hostileCell(behaviour))
        const driver = yield* host.driver({ directory, program, onClose: "stop", intervals })
        return { directory, driver }
      })
    const small = specOf(ada, { memoryMb: 64, diskMb: 8 })

    for (const [behaviour, reason] of evils)
      test(`one that ${behaviour} is gone soon, with the reason in its log`, () =>
        Effect.gen(function* () {
          const { directory, driver } = yield* hostile(behaviour)
          const exit = yield* firstExit(driver)
          yield* driver.start(small)
          const identity = yield* host.identity(directory, ada)
          const told = yield* exit
          expect(told.owner).toBe(ada)
          expect(told.reason).toMatch(reason)
          yield* eventually(() => !host.exists(identity))
          expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
          const { entries } = yield* driver.logs(ada, { limit: 1, level: "error" })
          expect(entries[0]?.source).toBe("host")
          expect(entries[0]?.message).toMatch(reason)
        }))

    test("one that floods its log while nobody looks fills a file of a bounded length, and no more", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const program = yield* Effect.promise(() => hostileCell("floods its log"))
        const driver = yield* host.driver({
          directory,
          program,
          onClose: "stop",
          intervals: { ...intervals, logs: "1 hour" }
        })
        yield* driver.start(small)
        const held = Effect.map(sizesIn(host.place(directory, ada).all), (sizes) => Math.max(...sizes))
        yield* pollUntil(Effect.map(held, (size) => size >= host.longestFile))
        expect(yield* held).toBe(host.longestFile)
      }))

    test("one that began with a full disk runs on, but may not grow", () =>
      Effect.gen(function* () {
        const { directory, driver } = yield* hostile("fills its disk")
        const exit = yield* firstExit(driver)
        yield* driver.start(small)
        yield* exit
        const quiet = yield* host.driver({
          directory,
          program: yield* Effect.promise(() => hostileCell("behaves")),
          onClose: "stop",
          intervals
        })
        yield* quiet.update(small, { fresh: false }, () => Effect.void)
        const identity = yield* host.identity(directory, ada)
        const grown = yield* Effect.option(Effect.timeout(Effect.flatten(firstExit(quiet)), Duration.seconds(2)))
        expect(Option.isNone(grown)).toBe(true)
        expect(host.exists(identity)).toBe(true)
      }))

    test("one that ignores its end is gone all the same, and a neighbour is not kept waiting", () =>
      Effect.gen(function* () {
        const { directory, driver } = yield* hostile("ignores its end")
        yield* driver.start(small)
        const identity = yield* host.identity(directory, ada)
        const stopping = yield* Effect.fork(Effect.timed(driver.stop(ada)))
        yield* driver.start(specOf(bob))
        expect(host.exists(identity)).toBe(true)
        const [took] = yield* Fiber.join(stopping)
        yield* eventually(() => !host.exists(identity))
        expect(Duration.toSeconds(took)).toBeGreaterThan(5)
      }))
  })
