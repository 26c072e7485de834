import type { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { resolveInstanceDirectory } from "@berth/infra/instance-drivers/process/InstanceDirectory"
import * as OrphanedInstances from "@berth/infra/instance-drivers/process/OrphanedInstances"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import {
  lchown,
  mkdir,
  open as openFile,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile
} from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { eventually } from "../../../../../test/support/Eventually.ts"
import { bundleProgram, bundleRuntime } from "../../../../../test/support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"
import { hasAccounts, open, owner, pidOf, spec, startInstance, test } from "./ProcessDriverFixture.ts"

const resolve = (directory: string) => Option.getOrThrow(resolveInstanceDirectory(directory, owner))

const hasProc = existsSync("/proc/self/status")

describe("ProcessInstanceDriver hardening", () => {
  test(
    "ProcessInstanceDriver limits the processes and empties the capability bounding set of an instance's account",
    () =>
      Effect.gen(function* () {
        const { pid } = yield* startInstance
        const status = yield* Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8"))
        for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
          assert.match(status, new RegExp(`^${set}:\\t0+$`, "m"))
        assert.match(status, /^NoNewPrivs:\t1$/m)
        assert.match(status, /^Groups:\s*$/m)
        const limits = yield* Effect.promise(() => readFile(`/proc/${pid}/limits`, "utf8"))
        assert.match(limits, /Max processes +64 +64 /)
      }),
    hasAccounts && hasProc
  )

  test(
    "ProcessInstanceDriver passes no descriptor of its parent to an instance",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const program = yield* Effect.promise(() =>
          bundleProgram(
            fileURLToPath(new URL("../../../../../test/support/processes/DriverProgram.ts", import.meta.url))
          )
        )
        const runtime = yield* Effect.promise(() => bundleRuntime())
        const secret = join(directory, "secret")
        const file = yield* Effect.acquireRelease(
          Effect.promise(() => openFile(secret, "w")),
          (handle) => Effect.promise(() => handle.close())
        )
        const instances = join(directory, "instances")
        const stdio = Array.from({ length: 41 }, (_, fd) =>
          fd < 2 ? ("pipe" as const) : [2, 5, 20, 40].includes(fd) ? file.fd : ("ignore" as const)
        )
        yield* Effect.acquireRelease(
          Effect.async<ReturnType<typeof spawn>>((resume) => {
            const child = spawn(process.execPath, [program, instances, runtime], { stdio })
            child.stdout?.once("data", () => resume(Effect.succeed(child)))
          }),
          (child) =>
            Effect.async<void>((resume) => {
              child.once("exit", () => resume(Effect.void))
              child.stdin?.end()
            })
        )
        const pid = yield* pidOf(instances)
        const targets = yield* Effect.promise(async () => {
          const numbers = await readdir(`/proc/${pid}/fd`)
          return Promise.all(numbers.map((number) => readlink(`/proc/${pid}/fd/${number}`).catch(() => "")))
        })
        assert.notInclude(targets, secret)
      }),
    hasProc
  )

  test("ProcessInstanceDriver places the socket of an instance in a short directory that its account alone may enter", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "d".repeat(100), "e".repeat(100))
      yield* Effect.promise(() => mkdir(directory, { recursive: true }))
      const driver = yield* open(directory)
      yield* driver.start(spec)
      const { home, socket, sockets } = resolve(directory)
      assert.isBelow(Buffer.byteLength(socket), 104)
      const [folder, file, own] = yield* Effect.promise(() => Promise.all([stat(sockets), stat(socket), stat(home)]))
      assert.isTrue(file.isSocket())
      assert.deepStrictEqual(
        [folder.mode & 0o777, file.mode & 0o777].map((mode) => mode.toString(8)),
        ["700", "600"]
      )
      assert.deepStrictEqual([folder.uid, file.uid], [own.uid, own.uid])
      yield* driver.stop(owner)
      assert.isFalse(existsSync(sockets))
    }))

  test(
    "ProcessInstanceDriver keeps other accounts from the socket of an instance",
    () =>
      Effect.gen(function* () {
        const { directory } = yield* startInstance
        const { socket } = resolve(directory)
        const script = `require("net").connect(process.argv[1]).on("error", (e) => console.log(e.code)).on("connect", () => process.exit())`
        const uid = 1_999_999
        const { stdout } = spawnSync(process.execPath, ["-e", script, socket], {
          uid,
          gid: uid,
          encoding: "utf8",
          cwd: "/"
        })
        assert.strictEqual(stdout.trim(), "EACCES")
      }),
    hasAccounts
  )

  test("ProcessInstanceDriver sends nothing to a server behind an instance's symbolic link", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* open(directory)
      const { runtimeVersion, startedAt } = yield* driver.start(spec)
      const pid = yield* pidOf(directory)
      const target = join(directory, "s")
      const requests: Array<string> = []
      yield* Effect.acquireRelease(
        Effect.async<Server>((resume) => {
          const server = createServer((request, response) => {
            requests.push(request.url ?? "")
            response.setHeader("content-type", "application/json")
            response.end(JSON.stringify({ status: "ok", runtimeVersion, startedAt: startedAt.epochMillis, agents: [] }))
          })
          server.listen(target, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { socket, sockets } = resolve(directory)
      yield* Effect.promise(async () => {
        await rm(socket)
        await symlink(target, socket)
        const { uid } = await stat(sockets)
        await lchown(socket, uid, uid)
      })
      yield* driver.start(spec)
      assert.notStrictEqual(yield* pidOf(directory), pid)
      assert.deepStrictEqual(requests, [])
    }))

  for (const [end, how] of [
    ["stop", (driver: InstanceDriver["Type"]) => driver.stop(owner)],
    [
      "a crash",
      (driver: InstanceDriver["Type"], pid: number) =>
        Effect.gen(function* () {
          const exit = yield* Effect.fork(Stream.runHead(driver.exits))
          yield* Effect.yieldNow()
          yield* Effect.yieldNow()
          process.kill(pid, "SIGKILL")
          yield* Fiber.join(exit)
        })
    ]
  ] as const)
    test(
      `ProcessInstanceDriver leaves neither processes of an instance's account nor its sockets after ${end}`,
      () =>
        Effect.gen(function* () {
          const { directory, driver } = yield* startInstance
          const { uid } = yield* Effect.promise(() => stat(resolve(directory).home))
          const left = yield* Effect.acquireRelease(
            Effect.sync(() => spawn("/bin/sleep", ["60"], { uid, gid: uid, cwd: "/", detached: true })),
            (child) => Effect.sync(() => child.kill("SIGKILL"))
          )
          const ended = yield* Effect.fork(
            Effect.async<NodeJS.Signals | null>((resume) => {
              left.once("exit", (_, signal) => resume(Effect.succeed(signal)))
            })
          )
          yield* how(driver, yield* pidOf(directory))
          assert.strictEqual(yield* Fiber.join(ended).pipe(Effect.timeout("20 seconds")), "SIGKILL")
          yield* eventually(
            Effect.sync(() => existsSync(resolve(directory).sockets)),
            (exist) => !exist,
            { description: "the sockets to be removed" }
          )
        }),
      hasAccounts
    )

  test("ProcessInstanceDriver leaves no sockets of an instance that does not start", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const bundle = join(directory, "program", "runtime.mjs")
      yield* Effect.promise(async () => {
        await mkdir(dirname(bundle))
        await writeFile(bundle, "process.exit(1)")
      })
      const instances = join(directory, "instances")
      const driver = yield* open(instances, { bundle })
      yield* Effect.flip(driver.start(spec))
      assert.isFalse(existsSync(resolve(instances).sockets))
    }))

  test("OrphanedInstances.end removes the sockets that killed instances left", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(Effect.flatMap(open(directory, { onClose: "leave" }), (driver) => driver.start(spec)))
      process.kill(yield* pidOf(directory), "SIGKILL")
      const { sockets } = resolve(directory)
      assert.isTrue(existsSync(sockets))
      yield* OrphanedInstances.end(directory)
      assert.isFalse(existsSync(dirname(sockets)))
    }))
})
