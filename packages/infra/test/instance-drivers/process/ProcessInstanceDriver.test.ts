import { runtimeAddressFile } from "@berth/api/runtime/RuntimeContract"
import type * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import { isProcessAlive as alive } from "@berth/infra/process/ProcessIdentity"
import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Exit, Option } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { getPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"
import { hasAccounts, open, owner, pidOf, recordOf, spec, startInstance, test } from "./ProcessDriverFixture.ts"

const stranger = Effect.acquireRelease(
  Effect.sync(() => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" })),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
).pipe(Effect.map(({ pid }) => pid ?? 0))

describe("ProcessInstanceDriver", () => {
  test("neither adopts nor ends another process with an exited instance's number", () =>
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
      const address = JSON.stringify({ pid: other, socket: "/nowhere", runtimeVersion: "0", startedAt: 0 })
      yield* Effect.promise(() => writeFile(join(directory, owner, "record.json"), record))
      yield* Effect.promise(() => writeFile(join(directory, owner, "home", runtimeAddressFile), address))

      const driver = yield* open(directory)
      assert.deepStrictEqual(yield* driver.inspect(owner), Option.none())
      yield* driver.stop(owner)
      assert.isTrue(alive(other))
      yield* Effect.promise(() => writeFile(join(directory, owner, "record.json"), record))
      yield* driver.start(spec)
      assert.notStrictEqual(yield* pidOf(directory), other)
      assert.isTrue(alive(other))
    }))

  test("ignores another process that an instance publishes as its own", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* startInstance
      yield* driver.stop(owner)
      const other = yield* stranger
      const home = join(directory, owner, "home")
      const address = JSON.stringify({ pid: other, socket: "/nowhere", runtimeVersion: "0", startedAt: 0 })
      yield* Effect.promise(() => writeFile(join(home, runtimeAddressFile), address))
      assert.deepStrictEqual(yield* driver.inspect(owner), Option.none())
      yield* driver.stop(owner)
      assert.isTrue(alive(other))
      // A link out of the directory is not followed.
      yield* Effect.promise(() => symlink("/dev/zero", join(home, runtimeAddressFile)))
      assert.deepStrictEqual(yield* driver.inspect(owner), Option.none())
      yield* driver.start(spec)
    }))

  test(
    "finds an instance that was started but not recorded",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        yield* Effect.scoped(Effect.flatMap(open(directory, { onClose: "leave" }), (driver) => driver.start(spec)))
        const first = yield* pidOf(directory)
        yield* Effect.promise(() => rm(join(directory, owner, "record.json")))
        const driver = yield* open(directory)
        yield* driver.start(spec)
        assert.isFalse(alive(first))
        assert.notStrictEqual(yield* pidOf(directory), first)
      }),
    existsSync("/proc/self/cmdline")
  )

  test(
    "finds an unrecorded instance beside the record of an exited one",
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
        assert.isFalse(alive(first))
        assert.notStrictEqual(yield* pidOf(directory), first)
      }),
    existsSync("/proc/self/cmdline")
  )

  test("replaces an instance that hangs", () =>
    Effect.gen(function* () {
      const { directory, driver, pid: first } = yield* startInstance
      process.kill(first, "SIGSTOP")
      yield* driver.start(spec)
      assert.isFalse(alive(first))
      assert.notStrictEqual(yield* pidOf(directory), first)
    }))

  test("rotates the log at a start, and keeps it out of the instance's own directory", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* startInstance
      yield* driver.stop(owner)
      const log = join(directory, owner, "instance.log")
      yield* Effect.promise(() => appendFile(log, "x".repeat(5 * 1024 * 1024)))
      yield* driver.start(spec)
      assert.isBelow((yield* Effect.promise(() => stat(log))).size, 64 * 1024)
      assert.strictEqual((yield* Effect.promise(() => stat(`${log}.1`))).size, 2 * 1024 * 1024)
      assert.include(yield* Effect.promise(() => readFile(log, "utf8")), "Runtime listening")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(join(directory, owner, "home"))), [runtimeAddressFile])
    }))

  test(
    "starts an instance in its own session, out of reach of Ctrl-C",
    () =>
      Effect.gen(function* () {
        const { pid } = yield* startInstance
        const fields = yield* Effect.promise(() => readFile(`/proc/${pid}/stat`, "utf8"))
        // State, parent, process group, session.
        assert.deepStrictEqual(fields.split(") ")[1]?.split(" ").slice(2, 4).map(Number), [pid, pid])
      }),
    existsSync("/proc/self/stat")
  )

  test("keeps the debugger of an instance closed on SIGUSR1", () =>
    Effect.gen(function* () {
      const {
        directory,
        driver,
        instance: { startedAt }
      } = yield* startInstance
      process.kill(yield* pidOf(directory), "SIGUSR1")
      // Two health requests, so that the signal was handled before the log is read.
      for (const _ of [1, 2]) assert.deepStrictEqual((yield* driver.start(spec)).startedAt, startedAt)
      const log = yield* Effect.promise(() => readFile(join(directory, owner, "instance.log"), "utf8"))
      assert.notInclude(log, "Debugger listening")
    }))

  test(
    "limits an instance's files, privileges, priority and chance to survive when memory is short",
    () =>
      Effect.gen(function* () {
        const { pid } = yield* startInstance
        const read = (name: string) => Effect.promise(() => readFile(`/proc/${pid}/${name}`, "utf8"))
        const limits = yield* read("limits")
        assert.match(limits, /Max open files +1024 +1024 /)
        assert.match(limits, /Max core file size +0 +0 /)
        assert.strictEqual((yield* read("oom_score_adj")).trim(), "500")
        // Of the fields after the command, the 17th is the niceness (proc_pid_stat(5)).
        assert.strictEqual((yield* read("stat")).split(") ")[1]?.split(" ")[16], String(getPriority() + 5))
        if (existsSync("/usr/bin/setpriv")) assert.match(yield* read("status"), /NoNewPrivs:\t1/)
      }),
    existsSync("/proc/self/stat")
  )

  test("makes the instance's directory accessible to its account only", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* startInstance
      const home = yield* Effect.promise(() => stat(join(directory, owner, "home")))
      const record = yield* Effect.promise(() => stat(join(directory, owner, "record.json")))
      assert.strictEqual((home.mode & 0o777).toString(8), "700")
      assert.strictEqual((record.mode & 0o777).toString(8), "600")
      assert.strictEqual(record.uid, process.getuid?.())
      if (hasAccounts) assert.isAtLeast(home.uid, 20_000)
      yield* driver.stop(owner)
      yield* driver.start(spec)
      assert.strictEqual((yield* Effect.promise(() => stat(join(directory, owner, "home")))).uid, home.uid)
    }))

  test(
    "moves the instances when other accounts cannot reach the data directory",
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
        assert.isAbove(home.uid, 0)
        yield* driver.remove(owner)
        assert.isFalse(existsSync(join(elsewhere, owner)))
      }),
    hasAccounts
  )

  /** The driver of a backend without root. */
  const openUnprivileged = (changes: Partial<ProcessInstanceDriver.ProcessInstanceDriverOptions>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const real = process.getuid
        process.getuid = () => 1000
        return real
      }),
      () => Effect.flatMap(temporaryDirectory, (directory) => Effect.exit(open(directory, changes))),
      (real) =>
        Effect.sync(() => {
          if (real !== undefined) process.getuid = real
        })
    )

  test("ProcessInstanceDriver fails with the name of the setting where accounts are required and missing", () =>
    Effect.gen(function* () {
      assert.isTrue(Exit.isSuccess(yield* openUnprivileged({})))
      for (const changes of [{ requiresAccounts: true }, { uids: { first: 30_000, size: 10 } }]) {
        const exit = yield* openUnprivileged(changes)
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /not run as root.+INSTANCE_UIDS/)
      }
    }))

  test(
    "ProcessInstanceDriver takes accounts from the given range",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory, { uids: { first: 45_000, size: 2 }, requiresAccounts: true })
        yield* driver.start(spec)
        const { uid } = yield* Effect.promise(() => stat(join(directory, owner, "home")))
        assert.include([45_000, 45_001], uid)
      }),
    hasAccounts
  )

  test("fails at start when the program is missing", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const exit = yield* Effect.exit(open(directory, { bundle: join(directory, "none.mjs") }))
      assert.include(Exit.isFailure(exit) && Cause.pretty(exit.cause), "none.mjs")
    }))
})
