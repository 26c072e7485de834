import { CellEnvironment } from "@berth/api/cell/CellContract"
import { UserId } from "@berth/domain/accounts/User"
import type { CellExit } from "@berth/domain/instances/InstanceDriver"
import { afterAll, beforeAll, describe, expect } from "@effect/vitest"
import { Effect, Option, Redacted, Schema, Stream } from "effect"
import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle, runtimeBundle } from "../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../support/Workplace.ts"
import { ada, bob, eventually, firstExit, health, hosts, specOf, test } from "./InstanceHosts.ts"

let program = ""
let probe = ""

for (const host of hosts)
  describe(`InstanceDriver: ${host.name}`, () => {
    beforeAll(async () => {
      program = await runtimeBundle()
      probe = await bundle(fileURLToPath(new URL("../support/CellProbe.ts", import.meta.url)))
      process.env["SECRET_OF_THE_PARENT"] = "not for cells"
    })
    afterAll(() => {
      delete process.env["SECRET_OF_THE_PARENT"]
    })

    const open = (directory: string, onClose: "leave" | "stop" = "stop") => host.driver({ directory, program, onClose })

    test("starts a cell that answers to its own token alone", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const cell = yield* driver.start(specOf(ada))
        expect(cell.owner).toBe(ada)
        expect(cell.runtimeVersion).toMatch(/^\d+\.\d+\.\d+$/)
        expect(yield* health(cell.endpoint, "token of usr_ada")).toBe(200)
        expect(yield* health(cell.endpoint, "token of usr_bob")).toBe(401)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.some(cell))
      }))

    test("does not double a cell that is up", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const first = yield* driver.start(specOf(ada))
        const both = yield* Effect.all([driver.start(specOf(ada)), driver.start(specOf(ada))], {
          concurrency: "unbounded"
        })
        expect(both).toStrictEqual([first, first])
      }))

    test("runs the cells of different owners side by side", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const [one, other] = yield* Effect.all([driver.start(specOf(ada)), driver.start(specOf(bob))], {
          concurrency: "unbounded"
        })
        expect(one.endpoint).not.toBe(other.endpoint)
        expect(yield* host.identity(directory, ada)).not.toBe(yield* host.identity(directory, bob))
      }))

    test("replaces a cell whose memory changed, or whose token is another", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(specOf(ada))
        const first = yield* host.identity(directory, ada)
        yield* driver.start(specOf(ada, { memoryMb: 512 }))
        const second = yield* host.identity(directory, ada)
        const cell = yield* driver.start(specOf(ada, { memoryMb: 512, token: Redacted.make("new") }))
        expect(new Set([first, second, yield* host.identity(directory, ada)]).size).toBe(3)
        expect([host.exists(first), host.exists(second)]).toStrictEqual([false, false])
        expect(yield* health(cell.endpoint, "new")).toBe(200)
      }))

    test("leaves a cell to the next driver, which adopts it and hears of its death", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const left = yield* Effect.scoped(
          Effect.flatMap(open(directory, "leave"), (driver) => driver.start(specOf(ada)))
        )
        const identity = yield* host.identity(directory, ada)
        expect(host.exists(identity)).toBe(true)

        const driver = yield* open(directory)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.some(left))
        expect(yield* driver.start(specOf(ada))).toStrictEqual(left)
        expect(yield* host.identity(directory, ada)).toBe(identity)

        const exit = yield* firstExit(driver)
        host.kill(identity)
        expect((yield* exit).owner).toBe(ada)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
      }))

    test("stops a cell that an earlier driver left", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        yield* Effect.scoped(Effect.flatMap(open(directory, "leave"), (driver) => driver.start(specOf(ada))))
        const identity = yield* host.identity(directory, ada)
        const driver = yield* open(directory)
        yield* driver.stop(ada)
        expect(host.exists(identity)).toBe(false)
      }))

    test("names everybody who has anything on the host, up or down or only as files, and nobody else", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        expect(yield* driver.owners).toStrictEqual([])
        yield* Effect.forEach([ada, bob], (owner) => driver.start(specOf(owner)), { concurrency: 2 })
        yield* driver.stop(bob)
        expect([...(yield* driver.owners)].toSorted()).toStrictEqual([ada, bob])
        const next = yield* open(directory)
        expect([...(yield* next.owners)].toSorted()).toStrictEqual([ada, bob])
        yield* driver.remove(bob)
        expect(yield* next.owners).toStrictEqual([ada])
        yield* driver.remove(ada)
        expect(yield* next.owners).toStrictEqual([])
      }))

    test("stops all cells when it is closed, if it is told to", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const identities = yield* Effect.scoped(
          Effect.gen(function* () {
            const driver = yield* open(directory, "stop")
            yield* Effect.forEach([ada, bob], (owner) => driver.start(specOf(owner)), { concurrency: 2 })
            return yield* Effect.forEach([ada, bob], (owner) => host.identity(directory, owner))
          })
        )
        expect(identities.map(host.exists)).toStrictEqual([false, false])
      }))

    test("stops twice as once, and what is not there", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(specOf(ada))
        const identity = yield* host.identity(directory, ada)
        yield* driver.stop(ada)
        expect(host.exists(identity)).toBe(false)
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
        yield* driver.stop(ada)
        yield* driver.stop(bob)
        yield* driver.remove(bob)
        expect((yield* driver.start(specOf(ada))).owner).toBe(ada)
      }))

    test("tells of deaths that nobody asked for, and of no others", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        const told: Array<CellExit> = []
        yield* Effect.forkScoped(Stream.runForEach(driver.exits, (exit) => Effect.sync(() => told.push(exit))))
        yield* driver.start(specOf(ada))
        yield* driver.start(specOf(bob))
        yield* driver.stop(ada)
        const identity = yield* host.identity(directory, bob)
        host.kill(identity)
        yield* eventually(() => told.length > 0)
        expect(told.map(({ owner }) => owner)).toStrictEqual([bob])
        expect(told[0]?.reason).toContain("SIGKILL")
        expect(yield* driver.inspect(bob)).toStrictEqual(Option.none())
        expect((yield* driver.start(specOf(bob))).owner).toBe(bob)
      }))

    test("keeps the directory when it stops a cell, and deletes it when it removes one", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(specOf(ada))
        const { all, home } = host.place(directory, ada)
        yield* driver.stop(ada)
        yield* Effect.promise(() => writeFile(join(home, "state"), "kept"))
        yield* driver.start(specOf(ada))
        expect(existsSync(join(home, "state"))).toBe(true)
        const identity = yield* host.identity(directory, ada)
        yield* driver.remove(ada)
        expect(existsSync(all)).toBe(false)
        expect(host.exists(identity)).toBe(false)
      }))

    test("gives a cell its own environment and nothing of the parent's", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(specOf(ada))
        const environment = yield* host.environment(yield* host.identity(directory, ada))
        if (Option.isNone(environment)) return
        expect(new Set(environment.value.map((line) => line.split("=")[0]))).toStrictEqual(
          new Set([
            CellEnvironment.token,
            CellEnvironment.backendUrl,
            CellEnvironment.directory,
            CellEnvironment.memoryMb,
            CellEnvironment.diskMb,
            ...host.settings
          ])
        )
        expect(environment.value.join("\n")).not.toContain("not for cells")
      }))

    test("says why a program does not come up", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const broken = join(directory, "broken.mjs")
        yield* Effect.promise(() => writeFile(broken, `throw new Error("this one is broken")`))
        const driver = yield* host.driver({ directory: join(directory, "cells"), program: broken, onClose: "stop" })
        const failure = yield* Effect.flip(driver.start(specOf(ada)))
        expect(failure.owner).toBe(ada)
        expect(failure.reason).toContain("this one is broken")
        expect(yield* driver.inspect(ada)).toStrictEqual(Option.none())
      }))

    test("refuses an owner whose id would lead out of the cells' directory", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(join(directory, "cells"))
        for (const id of ["../evil", "", ".", "a/b", "a\0b"]) {
          const owner = UserId.make(id)
          expect((yield* Effect.flip(driver.start(specOf(owner))))._tag).toBe("CellDidNotStart")
          expect(yield* driver.inspect(owner)).toStrictEqual(Option.none())
          yield* driver.remove(owner)
        }
        expect(existsSync(join(directory, "cells"))).toBe(true)
      }))

    test("holds a cell to its own directory, without children or workers", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const neighbour = join(directory, "usr_neighbour", "home")
        yield* Effect.promise(() => mkdir(neighbour, { recursive: true, mode: 0o755 }))
        yield* Effect.promise(() => writeFile(join(neighbour, "note"), "a secret"))
        const driver = yield* host.driver({ directory, program: probe, onClose: "stop" })
        yield* driver.start(specOf(ada))
        yield* driver.start(specOf(bob))
        const findings = yield* Effect.forEach([ada, bob], (owner) =>
          Effect.promise(async () => {
            const text = await readFile(join(host.place(directory, owner).home, "findings.json"), "utf8")
            return Schema.decodeUnknownSync(Findings)(JSON.parse(text))
          })
        )
        for (const found of findings) {
          expect(found.readOwn).toBe("possible")
          expect(found.argv).toStrictEqual([])
          expect(
            found.environment.filter((name) => !/^(BERTH_|__CF)/.test(name) && !host.settings.includes(name))
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
        expect(uids.size).toBe(host.ownAccounts ? 2 : 1)
        if (host.ownAccounts) expect(uids.has(0)).toBe(false)
      }))
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
