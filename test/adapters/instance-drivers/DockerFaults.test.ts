import { loadSettings } from "@berth/infra/configuration/SettingsLoader"
import { installationLabels } from "@berth/infra/instance-drivers/docker/ContainerProfile"
import * as DockerEngine from "@berth/infra/instance-drivers/docker/DockerEngine"
import * as DockerInstanceDriver from "@berth/infra/instance-drivers/docker/DockerInstanceDriver"
import { EngineAddress } from "@berth/infra/instance-drivers/docker/EngineAddress"
import { EngineRequestRejected } from "@berth/infra/instance-drivers/docker/EngineErrors"
import { ensureNetwork } from "@berth/infra/instance-drivers/docker/InstanceNetwork"
import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { assert, beforeAll, it } from "@effect/vitest"
import { Effect, Fiber, Option, Schedule, TestClock } from "effect"
import { copyFileSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { makeCertificates } from "../../support/Certificates.ts"
import { daemonPidFile, stopDaemon } from "../../support/DaemonEnd.ts"
import { dockerEngine, launchDaemon, startDaemon } from "../../support/DockerDaemon.ts"
import { freePort } from "../../support/FreePort.ts"
import { describeWithTool } from "../../support/RequiredTools.ts"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { buildImage, installationOf, removeTestInstances, runDocker, testEngine, testNetwork } from "./DockerHost.ts"
import {
  ada,
  awaitFirstExit,
  bob,
  dockerDriver,
  makeInstanceSpec,
  testDriver,
  waitUntil
} from "./InstanceDriverHosts.ts"

/** Containers and volumes of an installation. */
const countObjects = (engine: DockerEngine.DockerEngine, directory: string) =>
  Effect.gen(function* () {
    const labels = installationLabels(installationOf(directory))
    const [containers, volumes] = yield* Effect.all([engine.listContainers(labels), engine.listVolumes(labels)])
    return { containers: containers.length, volumes: volumes.length }
  })

const nothing = { containers: 0, volumes: 0 }
const accepted = () => Effect.void

it.scopedLive("DockerEngine.make explains how to reach a missing engine", () =>
  Effect.gen(function* () {
    const path = join(yield* temporaryDirectory, "docker.sock")
    const { message } = yield* Effect.flip(DockerEngine.make(EngineAddress.Socket({ path })))
    assert.match(message, /docker\.sock cannot be reached \(ENOENT\)\. Start it, or set DOCKER_HOST/)
  })
)

it.scoped("DockerEngine.make names the call that an engine does not answer", () =>
  Effect.gen(function* () {
    const path = join(yield* temporaryDirectory, "docker.sock")
    yield* Effect.acquireRelease(
      Effect.async<() => void>((resume) => {
        const server = createServer()
        server.listen(path, () => resume(Effect.succeed(() => server.close())))
      }),
      (close) => Effect.sync(close)
    )
    const fiber = yield* Effect.fork(Effect.flip(DockerEngine.make(EngineAddress.Socket({ path }))))
    yield* TestClock.adjust("10 seconds")
    assert.match((yield* Fiber.join(fiber)).message, /did not answer GET \/version within 10s\. Restart it/)
  })
)

describeWithTool(dockerEngine, "DockerInstanceDriver after a fault", () => {
  let program = ""
  let newer = ""
  beforeAll(async () => {
    program = await bundleHostileRuntime("behaves", "1.0.0")
    newer = await bundleHostileRuntime("behaves", "2.0.0")
  })

  const driverOf = (directory: string, of = program) =>
    dockerDriver({ directory, program: of, onClose: "stop" }, testNetwork)
  const nameOf = (directory: string) => `berth-${installationOf(directory)}-${ada}`

  const fixture = Effect.gen(function* () {
    yield* Effect.addFinalizer(() => Effect.promise(removeTestInstances))
    return { directory: yield* temporaryDirectory, engine: yield* testEngine }
  })

  testDriver("DockerInstanceDriver.start names the image that the engine does not have", () =>
    Effect.gen(function* () {
      const { directory, engine } = yield* fixture
      const driver = yield* DockerInstanceDriver.make({
        engine,
        installation: installationOf(directory),
        network: (yield* ensureNetwork(engine, testNetwork)).name,
        image: "berth-absent",
        directory,
        onClose: "stop"
      }).pipe(Effect.provide(UnixSocketClient.layer))
      const { reason } = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
      assert.match(reason, /berth-absent is not on the Docker Engine\. Build it with `npm run image`/)
      assert.deepStrictEqual(yield* countObjects(engine, directory), nothing)
    })
  )

  testDriver("DockerInstanceDriver.start runs the version before after a crash in an update", () =>
    Effect.gen(function* () {
      const { directory, engine } = yield* fixture
      const driver = yield* driverOf(directory)
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.stop(ada)
      // A backend that was killed before the acceptance leaves both containers.
      runDocker(
        "run",
        "--detach",
        "--name",
        `${nameOf(directory)}.next`,
        "--label",
        `berth.installation=${installationOf(directory)}`,
        "--network",
        "none",
        runDocker("inspect", "--format", "{{.Image}}", nameOf(directory)),
        "-e",
        "setInterval(() => 0, 1000)"
      )
      const next = yield* driverOf(directory, newer)
      assert.strictEqual((yield* next.start(makeInstanceSpec(ada))).runtimeVersion, "1.0.0")
      assert.deepStrictEqual(yield* countObjects(engine, directory), { containers: 1, volumes: 1 })
      yield* next.remove(ada)
      assert.deepStrictEqual(yield* countObjects(engine, directory), nothing)
    })
  )

  testDriver("DockerInstanceDriver.start runs the accepted version after a crash before its renaming", () =>
    Effect.gen(function* () {
      const { directory, engine } = yield* fixture
      const driver = yield* driverOf(directory, newer)
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.stop(ada)
      assert.deepStrictEqual(yield* driver.listRunning, [])
      runDocker("rename", nameOf(directory), `${nameOf(directory)}.next`)
      assert.deepStrictEqual(yield* driver.listRunning, [ada])
      const next = yield* driverOf(directory)
      assert.strictEqual((yield* next.start(makeInstanceSpec(ada))).runtimeVersion, "2.0.0")
      assert.deepStrictEqual(yield* countObjects(engine, directory), { containers: 1, volumes: 1 })
    })
  )

  testDriver("DockerInstanceDriver.start replaces a container whose task a killed engine left", () =>
    Effect.gen(function* () {
      const { directory, engine } = yield* fixture
      yield* Effect.flatMap(driverOf(directory), (driver) => driver.start(makeInstanceSpec(ada))).pipe(Effect.scoped)
      const stopped = runDocker("inspect", "--format", "{{.Id}}", nameOf(directory))
      const withTask: DockerEngine.DockerEngine = {
        ...engine,
        startContainer: (id) =>
          id === stopped
            ? new EngineRequestRejected({
                operation: `POST /containers/${id}/start`,
                status: 500,
                reason: `task ${id}: already exists`
              })
            : engine.startContainer(id)
      }
      const options = { directory, program, onClose: "stop" } as const
      const driver = yield* dockerDriver(options, testNetwork, Effect.succeed(withTask))
      yield* driver.start(makeInstanceSpec(ada))
      assert.notStrictEqual(runDocker("inspect", "--format", "{{.Id}}", nameOf(directory)), stopped)
      assert.deepStrictEqual(yield* countObjects(engine, directory), { containers: 1, volumes: 1 })
    })
  )

  testDriver("DockerInstanceDriver.remove leaves no container of a task that was cut off", () =>
    Effect.gen(function* () {
      const { directory, engine } = yield* fixture
      const driver = yield* driverOf(directory)
      yield* driver.start(makeInstanceSpec(ada))
      const image = runDocker("inspect", "--format", "{{.Image}}", nameOf(directory))
      runDocker(
        "create",
        "--name",
        `${nameOf(directory)}.task`,
        "--label",
        `berth.installation=${installationOf(directory)}`,
        image
      )
      yield* driver.removeOtherAgents(ada, [])
      assert.deepStrictEqual(yield* countObjects(engine, directory), { containers: 1, volumes: 1 })
      yield* driver.remove(ada)
      assert.deepStrictEqual(yield* countObjects(engine, directory), nothing)
    })
  )

  testDriver("DockerInstanceDriver changes nothing of another installation on the engine", () =>
    Effect.gen(function* () {
      const { directory, engine } = yield* fixture
      const other = yield* temporaryDirectory
      const [driver, neighbor] = [yield* driverOf(directory), yield* driverOf(other)]
      yield* driver.start(makeInstanceSpec(ada))
      const instance = yield* neighbor.start(makeInstanceSpec(ada))
      assert.deepStrictEqual(yield* driver.listOwners, [ada])
      yield* driver.remove(ada)
      assert.deepStrictEqual(yield* driver.listOwners, [])
      assert.deepStrictEqual(yield* neighbor.inspect(ada), Option.some(instance))
      assert.deepStrictEqual(yield* countObjects(engine, other), { containers: 1, volumes: 1 })
    })
  )

  testDriver(
    "DockerInstanceDriver over TCP with client certificates fails while the engine is down, and recovers its instances afterwards",
    () =>
      Effect.gen(function* () {
        const root = yield* temporaryDirectory
        const directory = join(root, "docker")
        yield* Effect.addFinalizer(() => Effect.sync(() => stopDaemon(directory)))
        const certificates = makeCertificates(join(root, "certificates"))
        const port = yield* freePort
        const tls = { cacert: "ca.pem", cert: "cert.pem", key: "key.pem" }
        const options = [
          `--host=tcp://127.0.0.1:${port}`,
          "--tlsverify",
          ...Object.entries(tls).map(([option, file]) => `--tls${option}=${join(certificates, file)}`)
        ]
        const host = yield* Effect.promise(() => startDaemon(directory, options))
        const image = yield* Effect.promise(() => buildImage(program, host))
        const connect = (environment: Readonly<Record<string, string>>) =>
          loadSettings({ DOCKER_HOST: `tcp://127.0.0.1:${port}`, ...environment }).pipe(
            Effect.flatMap(({ docker }) => DockerEngine.make(docker.address))
          )
        const stranger = makeCertificates(join(root, "stranger"))
        for (const environment of [{}, { DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: stranger }])
          assert.match((yield* Effect.flip(connect(environment))).message, /^The Docker Engine|not one of a Docker/)
        // A client of another authority, which trusts this one.
        copyFileSync(join(certificates, "ca.pem"), join(stranger, "ca.pem"))
        const refused = yield* Effect.flip(connect({ DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: stranger }))
        assert.match(refused.message, /cannot be reached \(.+\)\. .+ check the certificates of DOCKER_CERT_PATH\.$/)
        const engine = yield* connect({ DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: certificates })
        const driver = yield* DockerInstanceDriver.make({
          engine,
          installation: installationOf(root),
          network: (yield* ensureNetwork(engine, testNetwork)).name,
          image,
          directory: join(root, "instances"),
          onClose: "stop"
        }).pipe(Effect.provide(UnixSocketClient.layer))
        yield* driver.start(makeInstanceSpec(ada))
        const exit = yield* awaitFirstExit(driver)

        const pid = Number(readFileSync(daemonPidFile(directory), "utf8"))
        process.kill(pid, "SIGKILL")
        yield* waitUntil(() => !isProcessAlive(pid))
        const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string; readonly reason: string }>> = [
          driver.start(makeInstanceSpec(ada)),
          driver.update(makeInstanceSpec(ada), { fresh: false }, accepted),
          driver.stop(ada),
          driver.remove(ada),
          driver.removeOtherAgents(ada, []),
          driver.listOwners,
          driver.inspect(bob),
          driver.logs(ada, { limit: 1 }),
          driver.stats(ada)
        ]
        for (const call of calls) {
          const { _tag, reason } = yield* Effect.flip(call)
          assert.strictEqual(_tag, "InstanceHostUnavailable")
          assert.match(reason, /cannot be reached \(\w+\)\. Start it/)
        }
        assert.isTrue(Option.isSome(yield* driver.inspect(ada)))

        // The killed daemon's containerd has ended; the next daemon would wait for the one that this file names.
        rmSync(join(directory, "exec", "containerd", "containerd.pid"), { force: true })
        launchDaemon(directory, options)
        yield* Effect.retry(engine.info, Schedule.spaced("100 millis")).pipe(Effect.timeout("60 seconds"))
        // Without live restore, a starting engine ends the containers that it finds.
        assert.strictEqual((yield* exit).owner, ada)
        const { startedAt } = yield* driver.start(makeInstanceSpec(ada))
        assert.deepStrictEqual(
          Option.map(yield* driver.stats(ada), (stats) => stats.startedAt),
          Option.some(startedAt)
        )
        assert.deepStrictEqual(yield* countObjects(engine, root), { containers: 1, volumes: 1 })
        yield* driver.remove(ada)
        assert.deepStrictEqual(yield* countObjects(engine, root), nothing)
      })
  )
})
