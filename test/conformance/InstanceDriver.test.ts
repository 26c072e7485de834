import { CellEnvironment } from "@berth/api/cell/CellContract"
import { UserId } from "@berth/domain/accounts/User"
import { type CellExit, type CellSpec, InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { smallEnvironment } from "@berth/infra/cells/process/NodeFlags"
import * as ProcessDriver from "@berth/infra/cells/process/ProcessDriver"
import { NodeHttpClient } from "@effect/platform-node"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Option, Redacted, Schedule, Schema, type Scope, Stream } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle, runtimeBundle } from "../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../support/Workplace.ts"

interface DriverOptions {
  readonly directory: string
  /** What runs in the cells. */
  readonly program: string
  readonly onClose: "leave" | "stop"
}

/** One kind of host, and what a test does there behind the driver's back. */
interface Host {
  readonly name: string
  readonly driver: (options: DriverOptions) => Effect.Effect<InstanceDriver["Type"], unknown, Scope.Scope>
  /** What names the cell's process or container for the system. */
  readonly identity: (directory: string, owner: UserId) => Effect.Effect<number>
  readonly exists: (identity: number) => boolean
  /** Ends the cell without a chance to say goodbye. */
  readonly kill: (identity: number) => void
  /** The cell's environment as the host sees it; none where the host does not show it. */
  readonly environment: (identity: number) => Effect.Effect<Option.Option<ReadonlyArray<string>>>
  /** Names of what the host itself sets in the environment. */
  readonly settings: ReadonlyArray<string>
  /** Where the host keeps what belongs to the owner, and in it the cell's own directory. */
  readonly place: (directory: string, owner: UserId) => { readonly all: string; readonly home: string }
  readonly ownAccounts: boolean
}

const decodeRecord = Schema.decodeUnknownPromise(Schema.parseJson(Schema.Struct({ pid: Schema.Int })))

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Root of a user namespace of one has no accounts to give. */
const mapsManyAccounts = (): boolean =>
  !existsSync("/proc/self/uid_map") || /\s\d{6,}\s*$/m.test(readFileSync("/proc/self/uid_map", "utf8"))

const processes: Host = {
  name: "process",
  driver: ({ directory, onClose, program }) =>
    ProcessDriver.layer({ directory, bundle: program, onClose }).pipe(
      Layer.provide(NodeHttpClient.layer),
      Layer.build,
      Effect.map(Context.get(InstanceDriver))
    ),
  identity: (directory, owner) =>
    Effect.promise(async () => {
      const { pid } = await decodeRecord(await readFile(join(directory, owner, "record.json"), "utf8"))
      return pid
    }),
  exists: runs,
  kill: (pid) => {
    process.kill(pid, "SIGKILL")
  },
  environment: (pid) =>
    Effect.promise(() =>
      readFile(`/proc/${pid}/environ`, "utf8").then(
        (text) => Option.some(text.split("\0").filter((line) => line !== "")),
        () => Option.none()
      )
    ),
  settings: Object.keys(smallEnvironment),
  place: (directory, owner) => ({ all: join(directory, owner), home: join(directory, owner, "home") }),
  ownAccounts: process.getuid?.() === 0 && mapsManyAccounts()
}

const ada = UserId.make("usr_ada")
const bob = UserId.make("usr_bob")

const specOf = (owner: UserId, changes: Partial<CellSpec> = {}): CellSpec => ({
  owner,
  memoryMb: 256,
  token: Redacted.make(`token of ${owner}`),
  backendUrl: "http://127.0.0.1:1",
  ...changes
})

/** The status with which the cell answers its health check. */
const health = (endpoint: string, token: string) =>
  Effect.promise(() => fetch(`${endpoint}/health`, { headers: { authorization: `Bearer ${token}` } })).pipe(
    Effect.map(({ status }) => status)
  )

const eventually = (condition: () => boolean) =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("10 seconds"),
    Effect.asVoid
  )

const firstExit = (driver: InstanceDriver["Type"]) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Stream.runHead(driver.exits))
    // Deaths are told from the moment of subscription on: let the fiber get there.
    yield* Effect.yieldNow()
    yield* Effect.yieldNow()
    return Fiber.join(fiber).pipe(
      Effect.map(Option.getOrThrow),
      Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => "no exit was told" as const })
    )
  })

/** Real time, a scope, and no log between the results. */
const test = <E>(name: string, body: () => Effect.Effect<void, E, Scope.Scope>) =>
  it.scopedLive(name, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)))

let program = ""
let probe = ""

for (const host of [processes])
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
