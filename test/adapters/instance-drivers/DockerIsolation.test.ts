import { makeContainerProfile } from "@berth/infra/instance-drivers/docker/ContainerProfile"
import { closeHostPorts } from "@berth/infra/instance-drivers/docker/HostFirewall"
import { tokenFile } from "@berth/infra/instance-drivers/docker/StartFiles"
import { ensureNetwork, makeNetworkCreation } from "@berth/infra/instance-drivers/docker/InstanceNetwork"
import { assert, it } from "@effect/vitest"
import { Array, DateTime, Duration, Effect, Option, Schema } from "effect"
import { lstatSync, readFileSync } from "node:fs"
import { rm, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { inject } from "vitest"
import { dockerEngine } from "../../support/DockerDaemon.ts"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { describeWithTool } from "../../support/RequiredTools.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  buildTestImage,
  installationOf,
  removeTestInstances,
  reopenHostPorts,
  runDocker,
  testEngine,
  volumePathOf
} from "./DockerHost.ts"
import { ada, bob, checkHealth, dockerDriver, makeInstanceSpec } from "./InstanceDriverHosts.ts"

const network = "berth-isolation"
const probe = readFileSync(new URL("../../support/processes/ContainerProbe.cjs", import.meta.url), "utf8")

const Findings = Schema.Struct({
  uid: Schema.Int,
  capabilities: Schema.String,
  boundingCapabilities: Schema.String,
  noNewPrivileges: Schema.String,
  seccomp: Schema.String,
  writeRoot: Schema.String,
  writeVolumeRoot: Schema.String,
  becomeRoot: Schema.String,
  engineSocket: Schema.String,
  devices: Schema.String,
  environment: Schema.Array(Schema.String),
  mounts: Schema.Array(Schema.String),
  homeFiles: Schema.Array(Schema.String),
  name: Schema.String,
  reached: Schema.Record({ key: Schema.String, value: Schema.String }),
  children: Schema.Int
})

/** A listener on this host for the scope. */
const listen = (host: string) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer((socket) => socket.end())
      server.listen(0, host, () => {
        const address = server.address()
        const port = address !== null && typeof address === "object" ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

describeWithTool(dockerEngine, "The isolation of a container", () => {
  it.scopedLive("A container reaches the runtime listener, and nothing else of host, network or engine", () =>
    Effect.gen(function* () {
      const engine = yield* testEngine
      const directory = yield* temporaryDirectory
      const { bridge, gateway, name } = yield* ensureNetwork(engine, network)
      const [runtime, open, local] = yield* Effect.all([listen(gateway), listen("0.0.0.0"), listen("127.0.0.1")])
      yield* closeHostPorts({ bridge, host: gateway, port: runtime.port })
      yield* Effect.addFinalizer(() => Effect.sync(() => reopenHostPorts(bridge)))
      yield* Effect.addFinalizer(() => Effect.promise(removeTestInstances))

      const program = yield* Effect.promise(() => bundleHostileRuntime("behaves"))
      const driver = yield* dockerDriver({ directory, program, onClose: "stop" }, network)
      const neighbor = new URL((yield* driver.start(makeInstanceSpec(bob))).endpoint)
      const installation = installationOf(directory)
      const image = Option.getOrThrow(yield* engine.inspectImage(yield* Effect.promise(() => buildTestImage(program))))
      // The volume of an instance that has run.
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.stop(ada)

      const { hostname, port } = new URL(inject("databaseUrl"))
      const targets = {
        runtime: [gateway, runtime.port],
        open: [gateway, open.port],
        local: [gateway, local.port],
        database: [gateway, Number(port)],
        databaseItself: [hostname, Number(port)],
        neighbor: [neighbor.hostname, Number(neighbor.port)],
        metadata: ["169.254.169.254", 80],
        internet: ["1.1.1.1", 443]
      }
      const volume = `berth-${installation}-${ada}`
      const profile = makeContainerProfile(makeInstanceSpec(ada), image, { installation, network: name, volume })
      const id = yield* engine.createContainer(`${volume}.probe`, {
        ...profile,
        Cmd: ["-e", probe, "probe", JSON.stringify(targets)]
      })
      yield* engine.startContainer(id)
      const code = yield* engine.waitForExit(id, Duration.seconds(60))
      const log = Option.getOrThrow(yield* engine.readLog(id))
      assert.strictEqual(code, 0, log)
      const found = Schema.decodeUnknownSync(Schema.parseJson(Findings))(log.trim().split("\n").at(-1))

      const { runtime: reachedRuntime, ...others } = found.reached
      assert.strictEqual(reachedRuntime, "possible")
      for (const [target, result] of Object.entries(others)) assert.notStrictEqual(result, "possible", target)
      assert.notStrictEqual(found.name, "possible")

      assert.strictEqual(found.uid, 65_534)
      assert.match(found.capabilities, /^0+$/)
      assert.match(found.boundingCapabilities, /^0+$/)
      assert.strictEqual(found.noNewPrivileges, "1")
      assert.strictEqual(found.seccomp, "2")
      assert.strictEqual(found.writeRoot, "EROFS")
      assert.strictEqual(found.writeVolumeRoot, "EACCES")
      assert.strictEqual(found.becomeRoot, "EPERM")
      assert.strictEqual(found.engineSocket, "ENOENT")
      assert.notStrictEqual(found.devices, "possible")
      // The engine's own files for names are mounted too.
      assert.deepStrictEqual(
        found.mounts.filter((path) => !path.startsWith("/etc/")),
        ["/data"]
      )
      // The limit is 64 processes and threads, and Node.js has eleven.
      assert.isBelow(found.children, 10)
      assert.notInclude(JSON.stringify(found), "token of usr_ada")
    })
  )

  it.scopedLive("A start follows no link that an instance left in place of its token", () =>
    Effect.gen(function* () {
      const [directory, outside] = [yield* temporaryDirectory, join(yield* temporaryDirectory, "victim")]
      const program = yield* Effect.promise(() => bundleHostileRuntime("talks"))
      const driver = yield* dockerDriver({ directory, program, onClose: "stop" }, network)
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.stop(ada)
      const token = join(volumePathOf(directory, ada), "home", tokenFile)
      yield* Effect.promise(async () => {
        await writeFile(outside, "untouched")
        await rm(token, { force: true })
        await symlink(outside, token)
      })
      const { endpoint } = yield* driver.start(makeInstanceSpec(ada))
      assert.strictEqual(yield* checkHealth(endpoint, "token of usr_ada"), 200)
      assert.strictEqual(readFileSync(outside, "utf8"), "untouched")
      assert.isFalse(lstatSync(token, { throwIfNoEntry: false })?.isSymbolicLink() ?? false)
      yield* driver.remove(ada)
    })
  )

  const listNetworks = (name: string) =>
    runDocker("network", "ls", "--quiet", "--no-trunc", "--filter", `name=^${name}$`).split("\n").filter(Boolean)

  const removeNetworks = (name: string) => {
    for (const id of listNetworks(name)) runDocker("network", "rm", id)
    runDocker("volume", "rm", "--force", `berth-network-${name}`)
  }

  it.scopedLive("ensureNetwork makes one network for many programs that start at once, also after its removal", () =>
    Effect.gen(function* () {
      const engine = yield* testEngine
      const name = "berth-shared"
      yield* Effect.addFinalizer(() => Effect.sync(() => removeNetworks(name)))
      const programs = Array.makeBy(8, () => ensureNetwork(engine, name))
      const used = (yield* Effect.all(programs, { concurrency: "unbounded" })).map(({ bridge }) => bridge)
      const bridgeOf = (id: string) => `br-${id.slice(0, 12)}`
      assert.deepStrictEqual([...new Set(used)], listNetworks(name).map(bridgeOf))
      runDocker("network", "rm", name)
      const { bridge } = yield* ensureNetwork(engine, name)
      assert.deepStrictEqual([bridge], listNetworks(name).map(bridgeOf))
    })
  )

  it.scopedLive("ensureNetwork keeps the oldest of several unused networks of one name, on which instances start", () =>
    Effect.gen(function* () {
      const engine = yield* testEngine
      const name = "berth-several"
      const directory = yield* temporaryDirectory
      yield* Effect.addFinalizer(() => Effect.sync(() => removeNetworks(name)))
      yield* Effect.addFinalizer(() => Effect.promise(removeTestInstances))
      const createMany = Effect.all(
        Array.makeBy(8, () => Effect.ignore(engine.createNetwork(makeNetworkCreation(name)))),
        { concurrency: "unbounded" }
      )
      yield* Effect.repeat(createMany, {
        until: () => {
          if (listNetworks(name).length > 1) return true
          removeNetworks(name)
          return false
        }
      })
      const [oldest] = Array.sortWith(yield* engine.listNetworks(name), ({ Created }) => Created, DateTime.Order)
      yield* Effect.all([ensureNetwork(engine, name), ensureNetwork(engine, name)], { concurrency: 2 })
      assert.deepStrictEqual(listNetworks(name), [oldest?.Id])
      const program = yield* Effect.promise(() => bundleHostileRuntime("behaves"))
      const driver = yield* dockerDriver({ directory, program, onClose: "stop" }, name)
      const { endpoint } = yield* driver.start(makeInstanceSpec(ada))
      assert.strictEqual(yield* checkHealth(endpoint, "token of usr_ada"), 200)
    })
  )

  it.scopedLive("A network with a weaker profile is refused", () =>
    Effect.gen(function* () {
      const engine = yield* testEngine
      const weaker = "berth-weaker"
      yield* Effect.addFinalizer(() => Effect.sync(() => runDocker("network", "rm", weaker)))
      yield* engine.createNetwork({
        Name: weaker,
        CheckDuplicate: true,
        Driver: "bridge",
        Internal: false,
        EnableIPv6: false,
        Options: {}
      })
      const { message } = yield* Effect.flip(ensureNetwork(engine, weaker))
      assert.include(message, "it is not internal")
      assert.include(message, "DOCKER_NETWORK")
    })
  )
})
