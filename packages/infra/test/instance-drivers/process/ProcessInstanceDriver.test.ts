import { runtimeAddressFile } from "@berth/api/runtime/RuntimeContract"
import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import { isProcessAlive as alive } from "@berth/infra/process/ProcessIdentity"
import { NodeHttpClient } from "@effect/platform-node"
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Logger, Option, Redacted, Schema, type Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundleRuntime } from "../../../../../test/support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"
import { UserId } from "@berth/domain/shared/UserId"

const owner = UserId.make("usr_ada")
const spec = {
  owner,
  memoryMb: 256,
  diskMb: 256,
  token: Redacted.make("the token of the cell"),
  backendUrl: "http://127.0.0.1:1"
}

let program = ""

const open = (directory: string, changes: Partial<ProcessInstanceDriver.ProcessInstanceDriverOptions> = {}) =>
  ProcessInstanceDriver.layer({ directory, bundle: program, onClose: "stop", ...changes }).pipe(
    Layer.provide(NodeHttpClient.layer),
    Layer.build,
    Effect.map(Context.get(InstanceDriver))
  )

const decodeRecord = Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ pid: Schema.Int })))

const recordOf = (directory: string) => Effect.promise(() => readFile(join(directory, owner, "record.json"), "utf8"))

const pidOf = (directory: string) => Effect.map(recordOf(directory), (text) => decodeRecord(text).pid)

/** A process that has nothing to do with cells. */
const stranger = Effect.acquireRelease(
  Effect.sync(() => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" })),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
).pipe(Effect.map(({ pid }) => pid ?? 0))

const test = <E>(name: string, body: () => Effect.Effect<void, E, Scope.Scope>, run = true) =>
  (run ? it.scopedLive : it.scopedLive.skip)(name, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)))

/** Root can give cells accounts of their own, unless it is root of a user namespace of one. */
const hasAccounts =
  process.getuid?.() === 0 &&
  (!existsSync("/proc/self/uid_map") || /\s\d{6,}\s*$/m.test(readFileSync("/proc/self/uid_map", "utf8")))

describe("the process driver", () => {
  beforeAll(async () => {
    program = await bundleRuntime()
  })

  test("neither trusts nor ends a stranger that has a dead cell's number", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const left = yield* Effect.scoped(
        Effect.gen(function* () {
          const driver = yield* open(directory, { onClose: "leave" })
          yield* driver.start(spec)
          return { pid: yield* pidOf(directory), record: yield* recordOf(directory) }
        })
      )
      process.kill(left.pid, "SIGKILL")
      const other = yield* stranger
      const record = left.record.replace(`"pid":${left.pid}`, `"pid":${other}`)
      const address = JSON.stringify({ pid: other, port: 1, runtimeVersion: "0", startedAt: 0 })
      yield* Effect.promise(() => writeFile(join(directory, owner, "record.json"), record))
      yield* Effect.promise(() => writeFile(join(directory, owner, "home", runtimeAddressFile), address))

      const driver = yield* open(directory)
      expect(yield* driver.inspect(owner)).toStrictEqual(Option.none())
      yield* driver.stop(owner)
      expect(alive(other)).toBe(true)
      yield* Effect.promise(() => writeFile(join(directory, owner, "record.json"), record))
      yield* driver.start(spec)
      expect(yield* pidOf(directory)).not.toBe(other)
      expect(alive(other)).toBe(true)
    }))

  test("does not believe a cell that names another's process as its own", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* open(directory)
      yield* driver.start(spec)
      yield* driver.stop(owner)
      const other = yield* stranger
      const home = join(directory, owner, "home")
      const address = JSON.stringify({ pid: other, port: 1, runtimeVersion: "0", startedAt: 0 })
      yield* Effect.promise(() => writeFile(join(home, runtimeAddressFile), address))
      expect(yield* driver.inspect(owner)).toStrictEqual(Option.none())
      yield* driver.stop(owner)
      expect(alive(other)).toBe(true)
      // Nor follows it out of its directory.
      yield* Effect.promise(() => symlink("/dev/zero", join(home, runtimeAddressFile)))
      expect(yield* driver.inspect(owner)).toStrictEqual(Option.none())
      yield* driver.start(spec)
    }))

  test(
    "finds a cell again that was started but never noted",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        yield* Effect.scoped(Effect.flatMap(open(directory, { onClose: "leave" }), (driver) => driver.start(spec)))
        const first = yield* pidOf(directory)
        yield* Effect.promise(() => rm(join(directory, owner, "record.json")))
        const driver = yield* open(directory)
        yield* driver.start(spec)
        expect(alive(first)).toBe(false)
        expect(yield* pidOf(directory)).not.toBe(first)
      }),
    existsSync("/proc/self/cmdline")
  )

  test(
    "finds a cell again that was started but never noted, where the note of a dead one is left",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        yield* Effect.scoped(Effect.flatMap(open(directory, { onClose: "leave" }), (driver) => driver.start(spec)))
        const first = yield* pidOf(directory)
        const { pid: gone } = spawnSync(process.execPath, ["--version"])
        const record = (yield* recordOf(directory)).replace(`"pid":${first}`, `"pid":${gone}`)
        yield* Effect.promise(() => writeFile(join(directory, owner, "record.json"), record))
        const driver = yield* open(directory)
        yield* driver.start(spec)
        expect(alive(first)).toBe(false)
        expect(yield* pidOf(directory)).not.toBe(first)
      }),
    existsSync("/proc/self/cmdline")
  )

  test("replaces a cell that hangs", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* open(directory)
      yield* driver.start(spec)
      const first = yield* pidOf(directory)
      process.kill(first, "SIGSTOP")
      yield* driver.start(spec)
      expect(alive(first)).toBe(false)
      expect(yield* pidOf(directory)).not.toBe(first)
    }))

  test("keeps the log within bounds when a cell starts, and out of the cell's own directory", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* open(directory)
      yield* driver.start(spec)
      yield* driver.stop(owner)
      const log = join(directory, owner, "instance.log")
      yield* Effect.promise(() => appendFile(log, "x".repeat(5 * 1024 * 1024)))
      yield* driver.start(spec)
      expect((yield* Effect.promise(() => stat(log))).size).toBeLessThan(64 * 1024)
      expect((yield* Effect.promise(() => stat(`${log}.1`))).size).toBe(2 * 1024 * 1024)
      expect(yield* Effect.promise(() => readFile(log, "utf8"))).toContain("Runtime listening")
      expect(yield* Effect.promise(() => readdir(join(directory, owner, "home")))).toStrictEqual([runtimeAddressFile])
    }))

  test(
    "puts a cell in a session of its own, out of reach of a Ctrl-C",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(spec)
        const pid = yield* pidOf(directory)
        const fields = yield* Effect.promise(() => readFile(`/proc/${pid}/stat`, "utf8"))
        // State, parent, process group, session.
        expect(fields.split(") ")[1]?.split(" ").slice(2, 4).map(Number)).toStrictEqual([pid, pid])
      }),
    existsSync("/proc/self/stat")
  )

  test("gives the cell's directory to the cell alone", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* open(directory)
      yield* driver.start(spec)
      const home = yield* Effect.promise(() => stat(join(directory, owner, "home")))
      const record = yield* Effect.promise(() => stat(join(directory, owner, "record.json")))
      expect((home.mode & 0o777).toString(8)).toBe("700")
      expect((record.mode & 0o777).toString(8)).toBe("600")
      expect(record.uid).toBe(process.getuid?.())
      if (hasAccounts) expect(home.uid).toBeGreaterThanOrEqual(20_000)
      yield* driver.stop(owner)
      yield* driver.start(spec)
      expect((yield* Effect.promise(() => stat(join(directory, owner, "home")))).uid).toBe(home.uid)
    }))

  test(
    "moves the cells where other accounts can be, when they cannot reach the data directory",
    () =>
      Effect.gen(function* () {
        const above = yield* temporaryDirectory
        const directory = join(above, "private", "instances")
        yield* Effect.promise(() => mkdir(directory, { recursive: true }))
        yield* Effect.promise(() => chmod(join(above, "private"), 0o700))
        const elsewhere = join(
          tmpdir(),
          `berth-instances-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`
        )
        yield* Effect.addFinalizer(() => Effect.promise(() => rm(elsewhere, { recursive: true, force: true })))
        const driver = yield* Effect.zipRight(
          Effect.addFinalizer(() => Effect.void),
          open(directory)
        )
        yield* driver.start(spec)
        const home = yield* Effect.promise(() => stat(join(elsewhere, owner, "home")))
        expect(home.uid).toBeGreaterThan(0)
        yield* driver.remove(owner)
        expect(existsSync(join(elsewhere, owner))).toBe(false)
      }),
    hasAccounts
  )

  test("says that the program is missing before any cell is asked for", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const exit = yield* Effect.exit(open(directory, { bundle: join(directory, "none.mjs") }))
      expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain("none.mjs")
    }))

  test(
    "tells cells of a collector",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory, { otlpEndpoint: "http://127.0.0.1:9" })
        yield* driver.start(spec)
        const environment = yield* Effect.promise(() =>
          pidOf(directory)
            .pipe(Effect.runPromise)
            .then((pid) => readFile(`/proc/${pid}/environ`, "utf8"))
        )
        expect(environment).toContain("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9")
      }),
    existsSync("/proc/self/environ")
  )
})
