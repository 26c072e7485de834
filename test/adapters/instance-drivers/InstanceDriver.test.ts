import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import type { InstanceExit } from "@berth/domain/instances/InstanceDriver"
import { afterAll, assert, beforeAll } from "@effect/vitest"
import { Effect, Option, Redacted, Schema, Stream } from "effect"
import { existsSync } from "node:fs"
import { mkdir, rm, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleProgram, bundleRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  bob,
  waitUntil,
  awaitFirstExit,
  checkHealth,
  describeDrivers,
  makeInstanceSpec,
  testDriver,
  testDriverIf
} from "./InstanceDriverHosts.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

let program = ""
let probe = ""

describeDrivers("InstanceDriver", (host) => {
  beforeAll(async () => {
    program = await bundleRuntime()
    probe = await bundleProgram(fileURLToPath(new URL("../../support/processes/IsolationProbe.ts", import.meta.url)))
    process.env["SECRET_OF_THE_PARENT"] = "not for instances"
  })
  afterAll(() => {
    delete process.env["SECRET_OF_THE_PARENT"]
  })

  const open = (directory: string, onClose: "leave" | "stop" = "stop") => host.driver({ directory, program, onClose })

  const openNew = Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    return { directory, driver: yield* open(directory) }
  })
  const openStarted = Effect.tap(openNew, ({ driver }) => driver.start(makeInstanceSpec(ada)))

  testDriver("starts an instance that accepts only its own token", () =>
    Effect.gen(function* () {
      const { driver } = yield* openNew
      const instance = yield* driver.start(makeInstanceSpec(ada))
      assert.strictEqual(instance.owner, ada)
      assert.match(instance.runtimeVersion, /^\d+\.\d+\.\d+$/)
      assert.strictEqual(yield* checkHealth(instance.endpoint, "token of usr_ada"), 200)
      assert.strictEqual(yield* checkHealth(instance.endpoint, "token of usr_bob"), 401)
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.some(instance))
    })
  )

  testDriver("starts no second process for a running instance", () =>
    Effect.gen(function* () {
      const { driver } = yield* openNew
      const first = yield* driver.start(makeInstanceSpec(ada))
      const both = yield* Effect.all([driver.start(makeInstanceSpec(ada)), driver.start(makeInstanceSpec(ada))], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(both, [first, first])
    })
  )

  testDriver("runs the instances of several owners side by side", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openNew
      const [one, other] = yield* Effect.all(
        [driver.start(makeInstanceSpec(ada)), driver.start(makeInstanceSpec(bob))],
        {
          concurrency: "unbounded"
        }
      )
      assert.notStrictEqual(one.endpoint, other.endpoint)
      assert.notStrictEqual(yield* host.processIdOf(directory, ada), yield* host.processIdOf(directory, bob))
    })
  )

  testDriver("replaces an instance whose memory or token changed", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const first = yield* host.processIdOf(directory, ada)
      yield* driver.start(makeInstanceSpec(ada, { memoryMb: 512 }))
      const second = yield* host.processIdOf(directory, ada)
      const instance = yield* driver.start(makeInstanceSpec(ada, { memoryMb: 512, token: Redacted.make("new") }))
      assert.strictEqual(new Set([first, second, yield* host.processIdOf(directory, ada)]).size, 3)
      assert.deepStrictEqual(yield* Effect.forEach([first, second], host.isRunning), [false, false])
      assert.strictEqual(yield* checkHealth(instance.endpoint, "new"), 200)
    })
  )

  testDriver("leaves an instance to the next driver, which adopts it and publishes its exit", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const left = yield* Effect.scoped(
        Effect.flatMap(open(directory, "leave"), (driver) => driver.start(makeInstanceSpec(ada)))
      )
      const identity = yield* host.processIdOf(directory, ada)
      assert.isTrue(yield* host.isRunning(identity))

      const driver = yield* open(directory)
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.some(left))
      assert.deepStrictEqual(yield* driver.start(makeInstanceSpec(ada)), left)
      assert.strictEqual(yield* host.processIdOf(directory, ada), identity)

      const exit = yield* awaitFirstExit(driver)
      yield* host.kill(identity)
      assert.strictEqual((yield* exit).owner, ada)
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
    })
  )

  testDriver("stops an instance that an earlier driver left", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(Effect.flatMap(open(directory, "leave"), (driver) => driver.start(makeInstanceSpec(ada))))
      const identity = yield* host.processIdOf(directory, ada)
      const driver = yield* open(directory)
      yield* driver.stop(ada)
      assert.isFalse(yield* host.isRunning(identity))
    })
  )

  testDriver("lists exactly the owners with a running or stopped instance or with files, and those that run", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openNew
      assert.deepStrictEqual(yield* driver.listOwners, [])
      assert.deepStrictEqual(yield* driver.listRunning, [])
      yield* Effect.forEach([ada, bob], (owner) => driver.start(makeInstanceSpec(owner)), { concurrency: 2 })
      yield* driver.stop(bob)
      assert.deepStrictEqual([...(yield* driver.listOwners)].toSorted(), [ada, bob])
      const next = yield* open(directory)
      assert.deepStrictEqual([...(yield* next.listOwners)].toSorted(), [ada, bob])
      assert.deepStrictEqual(yield* next.listRunning, [ada])
      yield* driver.remove(bob)
      assert.deepStrictEqual(yield* next.listOwners, [ada])
      yield* driver.remove(ada)
      assert.deepStrictEqual(yield* next.listOwners, [])
      assert.deepStrictEqual(yield* next.listRunning, [])
    })
  )

  testDriver("stops all instances when it closes with `stop`", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const identities = yield* Effect.scoped(
        Effect.gen(function* () {
          const driver = yield* open(directory, "stop")
          yield* Effect.forEach([ada, bob], (owner) => driver.start(makeInstanceSpec(owner)), { concurrency: 2 })
          return yield* Effect.forEach([ada, bob], (owner) => host.processIdOf(directory, owner))
        })
      )
      assert.deepStrictEqual(yield* Effect.forEach(identities, host.isRunning), [false, false])
    })
  )

  testDriver("stops idempotently, also an instance that does not exist", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const identity = yield* host.processIdOf(directory, ada)
      yield* driver.stop(ada)
      assert.isFalse(yield* host.isRunning(identity))
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
      yield* driver.stop(ada)
      yield* driver.stop(bob)
      yield* driver.remove(bob)
      assert.strictEqual((yield* driver.start(makeInstanceSpec(ada))).owner, ada)
    })
  )

  testDriver("publishes only exits that were not requested", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openNew
      const exits: Array<InstanceExit> = []
      yield* Effect.forkScoped(Stream.runForEach(driver.exits, (exit) => Effect.sync(() => exits.push(exit))))
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.start(makeInstanceSpec(bob))
      yield* driver.stop(ada)
      const identity = yield* host.processIdOf(directory, bob)
      yield* host.kill(identity)
      yield* waitUntil(() => exits.length > 0)
      assert.deepStrictEqual(
        exits.map(({ owner }) => owner),
        [bob]
      )
      assert.match(exits[0]?.reason ?? "", host.killReason)
      assert.deepStrictEqual(yield* driver.inspect(bob), Option.none())
      assert.strictEqual((yield* driver.start(makeInstanceSpec(bob))).owner, bob)
    })
  )

  testDriver("keeps the directory of a stopped instance, and deletes that of a removed one", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      yield* driver.stop(ada)
      yield* host.writeFile(directory, ada, "state", "kept")
      yield* driver.start(makeInstanceSpec(ada))
      assert.deepStrictEqual(yield* host.readFile(directory, ada, "state"), Option.some("kept"))
      assert.isTrue(yield* host.hasFiles(directory, ada))
      const identity = yield* host.processIdOf(directory, ada)
      yield* driver.remove(ada)
      assert.isFalse(yield* host.hasFiles(directory, ada))
      assert.isFalse(yield* host.isRunning(identity))
    })
  )

  testDriver("InstanceDriver.removeOtherAgents deletes the files of all other agents, running or stopped", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openNew
      const [kept, deleted] = [AgentId.make("agt_kept"), AgentId.make("agt_deleted")]
      yield* driver.removeOtherAgents(ada, [kept])
      yield* driver.start(makeInstanceSpec(ada))
      const fileOf = (agent: AgentId) => join(runtimeAgentsDirectory, agent, "files", "notes", "note.txt")
      const read = (agent: AgentId) => host.readFile(directory, ada, fileOf(agent))
      for (const step of [Effect.void, driver.stop(ada)]) {
        yield* step
        for (const agent of [kept, deleted]) yield* host.writeFile(directory, ada, fileOf(agent), "a note")
        yield* driver.removeOtherAgents(ada, [kept])
        yield* driver.removeOtherAgents(ada, [kept])
        assert.deepStrictEqual(yield* Effect.forEach([kept, deleted], read), [Option.some("a note"), Option.none()])
      }
    })
  )

  testDriverIf(
    Option.isSome(host.home),
    "InstanceDriver.removeOtherAgents deletes nothing outside of the instance's directory",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* open(directory)
        yield* driver.start(makeInstanceSpec(ada))
        const outside = join(directory, "outside")
        const home = Option.getOrThrow(host.home)(directory, ada)
        yield* Effect.promise(async () => {
          await mkdir(outside)
          await writeFile(join(outside, "file"), "the host's")
          await symlink(outside, join(home, runtimeAgentsDirectory))
          await host.giveFiles(home)
        })
        yield* driver.removeOtherAgents(ada, [])
        yield* Effect.promise(async () => {
          await rm(join(home, runtimeAgentsDirectory))
          await mkdir(join(home, runtimeAgentsDirectory))
          await symlink(outside, join(home, runtimeAgentsDirectory, "agt_link"))
          await host.giveFiles(home)
        })
        yield* driver.removeOtherAgents(ada, [])
        assert.isFalse(existsSync(join(home, runtimeAgentsDirectory, "agt_link")))
        assert.isTrue(existsSync(join(outside, "file")))
      })
  )

  testDriver("gives an instance its own environment without the parent's variables", () =>
    Effect.gen(function* () {
      const { directory } = yield* openStarted
      const environment = yield* host.environment(yield* host.processIdOf(directory, ada))
      if (Option.isNone(environment)) return
      assert.deepStrictEqual(
        new Set(environment.value.map((line) => line.split("=")[0])),
        new Set([...host.runtimeVariables, ...host.ownVariables])
      )
      assert.notInclude(environment.value.join("\n"), "not for instances")
    })
  )

  testDriverIf(host.runsPrograms, "reports the reason of a failed start", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const broken = join(directory, "program", "runtime.mjs")
      yield* Effect.promise(() => mkdir(dirname(broken)))
      yield* Effect.promise(() => writeFile(broken, `throw new Error("this one is broken")`))
      const driver = yield* host.driver({ directory: join(directory, "instances"), program: broken, onClose: "stop" })
      const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
      assert.deepInclude(failure, { _tag: "InstanceStartFailed", owner: ada })
      assert.include(failure.reason, "this one is broken")
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
    })
  )

  testDriver("rejects an owner whose id would escape the directory", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* open(join(directory, "instances"))
      for (const id of ["../evil", "", ".", "a/b", "a\0b"]) {
        const owner = UserId.make(id)
        assert.strictEqual((yield* Effect.flip(driver.start(makeInstanceSpec(owner))))._tag, "InstanceStartFailed")
        assert.deepStrictEqual(yield* driver.inspect(owner), Option.none())
        yield* driver.remove(owner)
      }
      assert.isTrue(existsSync(join(directory, "instances")))
    })
  )

  testDriverIf(host.runsPrograms, "confines an instance to its own directory, without child processes or workers", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const neighbor = join(directory, "usr_neighbor", "home")
      yield* Effect.promise(() => mkdir(neighbor, { recursive: true, mode: 0o755 }))
      yield* Effect.promise(() => writeFile(join(neighbor, "note"), "a secret"))
      const driver = yield* host.driver({ directory, program: probe, onClose: "stop" })
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.start(makeInstanceSpec(bob))
      const findings = yield* Effect.forEach([ada, bob], (owner) =>
        Effect.map(host.readFile(directory, owner, "findings.json"), (text) =>
          Schema.decodeUnknownSync(Schema.parseJson(Findings))(Option.getOrThrow(text))
        )
      )
      for (const found of findings) {
        assert.strictEqual(found.readOwn, "possible")
        assert.deepStrictEqual(found.argv, [])
        assert.deepStrictEqual(
          found.environment.filter((name) => !/^(BERTH_|__CF)/.test(name) && !host.ownVariables.includes(name)),
          []
        )
        for (const forbidden of ["readSystem", "readRecord", "readNeighbor", "writeAbove", "spawn", "worker"] as const)
          assert.deepStrictEqual([forbidden, found[forbidden]], [forbidden, "ERR_ACCESS_DENIED"])
      }
      const uids = new Set(findings.map(({ uid }) => uid))
      assert.strictEqual(uids.size, host.separatesAccounts ? 2 : 1)
      if (host.separatesAccounts) assert.isFalse(uids.has(0))
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
  readNeighbor: Schema.String,
  writeAbove: Schema.String,
  spawn: Schema.String,
  worker: Schema.String
})
