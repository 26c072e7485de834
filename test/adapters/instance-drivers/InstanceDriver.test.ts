import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceExit } from "@berth/domain/instances/InstanceDriver"
import { afterAll, beforeAll, describe, expect } from "@effect/vitest"
import { Effect, Option, Redacted, Schema, Stream } from "effect"
import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleProgram, bundleRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  bob,
  waitUntil,
  awaitFirstExit,
  checkHealth,
  instanceDriverHosts,
  makeInstanceSpec,
  testDriver
} from "./InstanceDriverHosts.ts"
import { UserId } from "@berth/domain/shared/UserId"

let program = ""
let probe = ""

for (const host of instanceDriverHosts)
  describe(`InstanceDriver: ${host.name}`, () => {
    beforeAll(async () => {
      program = await bundleRuntime()
      probe = await bundleProgram(fileURLToPath(new URL("../../support/processes/IsolationProbe.ts", import.meta.url)))
      process.env["SECRET_OF_THE_PARENT"] = "not for cells"
    })
    afterAll(() => {
      delete process.env["SECRET_OF_THE_PARENT"]
    })

    const open = (directory: string, onClose: "leave" | "stop" = "stop") => host.driver({ directory, program, onClose })

    testDriver("starts a cell that answers to its own token alone", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const cell = yield* driver.start(makeInstanceSpec(ada))
        expect(cell.owner).toBe(ada)
        expect(cell.runtimeVersion).toMatch(/^\d+\.\d+\.\d+$/)
        expect(yield* checkHealth(cell.endpoint, "token of usr_ada")).toBe(200)
        expect(yield* checkHealth(cell.endpoint, "token of usr_bob")).toBe(401)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.some(cell))
      })
    )

    testDriver("does not double a cell that is up", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const first = yield* driver.start(makeInstanceSpec(ada))
        const both = yield* Effect.all([driver.start(makeInstanceSpec(ada)), driver.start(makeInstanceSpec(ada))], {
          concurrency: "unbounded"
        })
        expect(both).toStrictEqual([first, first])
      })
    )

    testDriver("runs the cells of different owners side by side", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const [one, other] = yield* Effect.all(
          [driver.start(makeInstanceSpec(ada)), driver.start(makeInstanceSpec(bob))],
          {
            concurrency: "unbounded"
          }
        )
        expect(one.endpoint).not.toBe(other.endpoint)
        expect(yield* host.processIdOf(directory, ada)).not.toBe(yield* host.processIdOf(directory, bob))
      })
    )

    testDriver("replaces a cell whose memory changed, or whose token is another", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(makeInstanceSpec(ada))
        const first = yield* host.processIdOf(directory, ada)
        yield* driver.start(makeInstanceSpec(ada, { memoryMb: 512 }))
        const second = yield* host.processIdOf(directory, ada)
        const cell = yield* driver.start(makeInstanceSpec(ada, { memoryMb: 512, token: Redacted.make("new") }))
        expect(new Set([first, second, yield* host.processIdOf(directory, ada)]).size).toBe(3)
        expect([host.isRunning(first), host.isRunning(second)]).toStrictEqual([false, false])
        expect(yield* checkHealth(cell.endpoint, "new")).toBe(200)
      })
    )

    testDriver("leaves a cell to the next driver, which adopts it and hears of its death", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const left = yield* Effect.scoped(
          Effect.flatMap(open(directory, "leave"), (driver) => driver.start(makeInstanceSpec(ada)))
        )
        const identity = yield* host.processIdOf(directory, ada)
        expect(host.isRunning(identity)).toBe(true)

        const driver = yield* open(directory)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.some(left))
        expect(yield* driver.start(makeInstanceSpec(ada))).toStrictEqual(left)
        expect(yield* host.processIdOf(directory, ada)).toBe(identity)

        const exit = yield* awaitFirstExit(driver)
        host.kill(identity)
        expect((yield* exit).owner).toBe(ada)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
      })
    )

    testDriver("stops a cell that an earlier driver left", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        yield* Effect.scoped(Effect.flatMap(open(directory, "leave"), (driver) => driver.start(makeInstanceSpec(ada))))
        const identity = yield* host.processIdOf(directory, ada)
        const driver = yield* open(directory)
        yield* driver.stop(ada)
        expect(host.isRunning(identity)).toBe(false)
      })
    )

    testDriver("names everybody who has anything on the host, up or down or only as files, and nobody else", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        expect(yield* driver.listOwners).toStrictEqual([])
        yield* Effect.forEach([ada, bob], (owner) => driver.start(makeInstanceSpec(owner)), { concurrency: 2 })
        yield* driver.stop(bob)
        expect([...(yield* driver.listOwners)].toSorted()).toStrictEqual([ada, bob])
        const next = yield* open(directory)
        expect([...(yield* next.listOwners)].toSorted()).toStrictEqual([ada, bob])
        yield* driver.remove(bob)
        expect(yield* next.listOwners).toStrictEqual([ada])
        yield* driver.remove(ada)
        expect(yield* next.listOwners).toStrictEqual([])
      })
    )

    testDriver("stops all cells when it is closed, if it is told to", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const identities = yield* Effect.scoped(
          Effect.gen(function* () {
            const driver = yield* open(directory, "stop")
            yield* Effect.forEach([ada, bob], (owner) => driver.start(makeInstanceSpec(owner)), { concurrency: 2 })
            return yield* Effect.forEach([ada, bob], (owner) => host.processIdOf(directory, owner))
          })
        )
        expect(identities.map(host.isRunning)).toStrictEqual([false, false])
      })
    )

    testDriver("stops twice as once, and what is not there", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(makeInstanceSpec(ada))
        const identity = yield* host.processIdOf(directory, ada)
        yield* driver.stop(ada)
        expect(host.isRunning(identity)).toBe(false)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
        yield* driver.stop(ada)
        yield* driver.stop(bob)
        yield* driver.remove(bob)
        expect((yield* driver.start(makeInstanceSpec(ada))).owner).toBe(ada)
      })
    )

    testDriver("tells of deaths that nobody asked for, and of no others", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const told: Array<InstanceExit> = []
        yield* Effect.forkScoped(Stream.runForEach(driver.exits, (exit) => Effect.sync(() => told.push(exit))))
        yield* driver.start(makeInstanceSpec(ada))
        yield* driver.start(makeInstanceSpec(bob))
        yield* driver.stop(ada)
        const identity = yield* host.processIdOf(directory, bob)
        host.kill(identity)
        yield* waitUntil(() => told.length > 0)
        expect(told.map(({ owner }) => owner)).toStrictEqual([bob])
        expect(told[0]?.reason).toContain("SIGKILL")
        expect(yield* driver.inspect(bob)).toStrictEqual(Option.none())
        expect((yield* driver.start(makeInstanceSpec(bob))).owner).toBe(bob)
      })
    )

    testDriver("keeps the directory when it stops a cell, and deletes it when it removes one", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(makeInstanceSpec(ada))
        const { all, home } = host.directories(directory, ada)
        yield* driver.stop(ada)
        yield* Effect.promise(() => writeFile(join(home, "state"), "kept"))
        yield* driver.start(makeInstanceSpec(ada))
        expect(existsSync(join(home, "state"))).toBe(true)
        const identity = yield* host.processIdOf(directory, ada)
        yield* driver.remove(ada)
        expect(existsSync(all)).toBe(false)
        expect(host.isRunning(identity)).toBe(false)
      })
    )

    testDriver("gives a cell its own environment and nothing of the parent's", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(makeInstanceSpec(ada))
        const environment = yield* host.environment(yield* host.processIdOf(directory, ada))
        if (Option.isNone(environment)) return
        expect(new Set(environment.value.map((line) => line.split("=")[0]))).toStrictEqual(
          new Set([
            RuntimeEnvironment.token,
            RuntimeEnvironment.backendUrl,
            RuntimeEnvironment.directory,
            RuntimeEnvironment.memoryMb,
            RuntimeEnvironment.diskMb,
            ...host.ownVariables
          ])
        )
        expect(environment.value.join("\n")).not.toContain("not for cells")
      })
    )

    testDriver("says why a program does not come up", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const broken = join(directory, "broken.mjs")
        yield* Effect.promise(() => writeFile(broken, `throw new Error("this one is broken")`))
        const driver = yield* host.driver({ directory: join(directory, "cells"), program: broken, onClose: "stop" })
        const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
        expect(failure.owner).toBe(ada)
        expect(failure.reason).toContain("this one is broken")
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
      })
    )

    testDriver("refuses an owner whose id would lead out of the cells' directory", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(join(directory, "cells"))
        for (const id of ["../evil", "", ".", "a/b", "a\0b"]) {
          const owner = UserId.make(id)
          expect((yield* Effect.flip(driver.start(makeInstanceSpec(owner))))._tag).toBe("InstanceStartFailed")
          expect(yield* driver.inspect(owner)).toStrictEqual(Option.none())
          yield* driver.remove(owner)
        }
        expect(existsSync(join(directory, "cells"))).toBe(true)
      })
    )

    testDriver("holds a cell to its own directory, without children or workers", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const neighbour = join(directory, "usr_neighbour", "home")
        yield* Effect.promise(() => mkdir(neighbour, { recursive: true, mode: 0o755 }))
        yield* Effect.promise(() => writeFile(join(neighbour, "note"), "a secret"))
        const driver = yield* host.driver({ directory, program: probe, onClose: "stop" })
        yield* driver.start(makeInstanceSpec(ada))
        yield* driver.start(makeInstanceSpec(bob))
        const findings = yield* Effect.forEach([ada, bob], (owner) =>
          Effect.promise(async () => {
            const text = await readFile(join(host.directories(directory, owner).home, "findings.json"), "utf8")
            return Schema.decodeUnknownSync(Findings)(JSON.parse(text))
          })
        )
        for (const found of findings) {
          expect(found.readOwn).toBe("possible")
          expect(found.argv).toStrictEqual([])
          expect(
            found.environment.filter((name) => !/^(BERTH_|__CF)/.test(name) && !host.ownVariables.includes(name))
          ).toStrictEqual([])
          for (const forbidden of [
            "readSystem",
            "readRecord",
            "readNeighbour",
            "writeAbove",
            "spawn",
            "worker"
          ] as const)
            expect([forbidden, found[forbidden]]).toStrictEqual([forbidden, "ERR_ACCESS_DENIED"])
        }
        const uids = new Set(findings.map(({ uid }) => uid))
        expect(uids.size).toBe(host.separatesAccounts ? 2 : 1)
        if (host.separatesAccounts) expect(uids.has(0)).toBe(false)
      })
    )
  })

const Findings = Schema.Struct({
  uid: Schema.NullOr(Schema.Int),
  argv: Schema.Array(Schema.String),
  environment: Schema.Array(Schema.String),
  readOwn: Schema.String,
  readSystem: Schema.String,
  readRecord: Schema.String,
  readNeighbour: Schema.String,
  writeAbove: Schema.String,
  spawn: Schema.String,
  worker: Schema.String
})
