import { beforeAll, describe, expect } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { cellAgentsDirectory } from "@berth/api/cell/CellContract"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { hostileCell } from "../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../support/Workplace.ts"
import { ada, hosts, specOf, test } from "./InstanceHosts.ts"

for (const host of hosts)
  describe(`InstanceDriver, versions of the runtime: ${host.name}`, () => {
    let one = ""
    let two = ""
    let broken = ""
    beforeAll(async () => {
      one = await hostileCell("behaves", "1.0.0")
      two = await hostileCell("behaves", "2.0.0")
      broken = await hostileCell("does not come up", "3.0.0")
    })

    const opened = (directory: string, program: string) => host.driver({ directory, program, onClose: "stop" })
    const accepted = () => Effect.void

    /** A directory whose owner's cell has run the first version. */
    const begun = Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const { runtimeVersion } = yield* Effect.scoped(
        Effect.flatMap(opened(directory, one), (driver) => driver.start(specOf(ada)))
      )
      expect(runtimeVersion).toBe("1.0.0")
      return directory
    })

    test("a cell stays on its version, however often it is started, until it is updated", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        yield* Effect.scoped(
          Effect.gen(function* () {
            const driver = yield* opened(directory, two)
            expect((yield* driver.start(specOf(ada))).runtimeVersion).toBe("1.0.0")
            yield* driver.stop(ada)
            expect((yield* driver.start(specOf(ada))).runtimeVersion).toBe("1.0.0")
            const identity = yield* host.identity(directory, ada)
            const updated = yield* driver.update(specOf(ada), { fresh: false }, accepted)
            expect(updated.runtimeVersion).toBe("2.0.0")
            expect(host.exists(identity)).toBe(false)
            expect(yield* driver.inspect(ada)).toStrictEqual(Option.some(updated))
          })
        )
        const driver = yield* opened(directory, one)
        expect((yield* driver.start(specOf(ada))).runtimeVersion).toBe("2.0.0")
      }))

    test("a version that does not come up leaves no cell, and the version before comes next", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, broken)
        yield* driver.start(specOf(ada))
        const failure = yield* Effect.flip(driver.update(specOf(ada), { fresh: false }, accepted))
        expect(failure.reason).toContain("this one does not come up")
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
        expect((yield* driver.start(specOf(ada))).runtimeVersion).toBe("1.0.0")
      }))

    test("a version that is not accepted leaves no cell, and the version before comes next", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, two)
        const failure = yield* Effect.flip(
          driver.update(specOf(ada), { fresh: false }, ({ runtimeVersion }) => Effect.fail(runtimeVersion))
        )
        expect(failure).toBe("2.0.0")
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
        expect((yield* driver.start(specOf(ada))).runtimeVersion).toBe("1.0.0")
      }))

    test("an update that was cut off before it was accepted is followed by the version that runs, or the one before", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, two)
        const exit = yield* Effect.exit(driver.update(specOf(ada), { fresh: false }, () => Effect.interrupt))
        expect(Exit.isInterrupted(exit)).toBe(true)
        expect((yield* driver.start(specOf(ada))).runtimeVersion).toBe("1.0.0")
      }))

    test("a fresh one begins with nothing but the files of its agents", () =>
      Effect.gen(function* () {
        const directory = yield* begun
        const driver = yield* opened(directory, two)
        yield* driver.start(specOf(ada))
        const note = join(host.place(directory, ada).home, "state")
        yield* Effect.promise(() => writeFile(note, "kept"))
        const file = join(host.place(directory, ada).home, cellAgentsDirectory, "agt_1", "files", "notes.txt")
        yield* Effect.promise(async () => {
          await mkdir(dirname(file), { recursive: true })
          await writeFile(file, "buy rope")
        })
        yield* driver.update(specOf(ada), { fresh: false }, accepted)
        expect(existsSync(note)).toBe(true)
        yield* driver.update(specOf(ada), { fresh: true }, accepted)
        expect(existsSync(note)).toBe(false)
        expect(readFileSync(file, "utf8")).toBe("buy rope")
      }))
  })
