import type { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import * as ClusterClient from "@berth/infra/instance-drivers/kubernetes/ClusterClient"
import type { ClusterConnection } from "@berth/infra/instance-drivers/kubernetes/ClusterConnection"
import * as KubernetesInstanceDriver from "@berth/infra/instance-drivers/kubernetes/KubernetesInstanceDriver"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { afterAll, assert, describe } from "@effect/vitest"
import { Effect, Option, Redacted, type Scope } from "effect"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { awaitFirstExit, checkHealth, makeInstanceSpec, testDriver } from "./InstanceDriverHosts.ts"
import { connectCluster, isReal, permission, realImages } from "./ClusterHost.ts"
import { closeTestCluster, imageOf, namesOf } from "./KubernetesHost.ts"

/*
 * The port's behavior without access to the host: on the fake API server by `npm test`, and on the cluster of
 * KUBECONFIG by `npm run test:kubernetes`.
 */

const owner = UserId.make("usr_berth-test")

interface TestPlace {
  readonly connection: ClusterConnection
  readonly image: string
  readonly newerImage: string
}

const makePlace = (directory: string) =>
  Effect.gen(function* () {
    const connection = yield* connectCluster(directory)
    if (isReal) return { connection, ...realImages() }
    const [older, newer] = yield* Effect.promise(() =>
      Promise.all(["1.0.0", "2.0.0"].map((version) => bundleHostileRuntime("talks", version)))
    )
    return { connection, image: imageOf(older ?? ""), newerImage: imageOf(newer ?? "") }
  })

const openDriver = (directory: string, { connection, image }: Omit<TestPlace, "newerImage">) =>
  KubernetesInstanceDriver.make({
    connection,
    image,
    directory,
    backendUrl: new URL("http://10.255.255.1:4001"),
    permission,
    onClose: "leave"
  }).pipe(Effect.provide(UnixSocketClient.layer))

/** A driver's connection; removes the owner's objects when the scope closes. */
const opened: Effect.Effect<
  { readonly directory: string; readonly place: TestPlace; readonly driver: InstanceDriver["Type"] },
  unknown,
  Scope.Scope
> = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const place = yield* makePlace(directory)
  const driver = yield* openDriver(directory, place)
  yield* Effect.addFinalizer(() => Effect.orDie(driver.remove(owner)))
  return { directory, place, driver }
})

const spec = makeInstanceSpec(owner, { token: Redacted.make("test token") })

describe(`A ${isReal ? "real" : "fake"} Kubernetes cluster`, () => {
  afterAll(closeTestCluster)

  testDriver("An instance starts, is adopted by the next backend, and stops", () =>
    Effect.gen(function* () {
      const { directory, driver, place } = yield* opened
      const instance = yield* driver.start(spec)
      if (isReal) assert.strictEqual(yield* checkHealth(instance.endpoint, "another token"), 401)
      assert.strictEqual(yield* checkHealth(instance.endpoint, "test token"), 200)
      assert.include(yield* driver.listOwners, owner)
      const next = yield* openDriver(directory, place)
      assert.deepStrictEqual(yield* next.start(spec), instance)
      assert.isTrue(Option.isSome(yield* next.stats(owner)))
      yield* next.stop(owner)
      assert.deepStrictEqual(yield* next.inspect(owner), Option.none())
      assert.include(yield* next.listOwners, owner)
    })
  )

  testDriver("A rejected update leaves the accepted image, an accepted one replaces it", () =>
    Effect.gen(function* () {
      const { directory, driver, place } = yield* opened
      const { runtimeVersion } = yield* driver.start(spec)
      const newer = yield* openDriver(directory, { ...place, image: place.newerImage })
      const rejection = yield* Effect.flip(newer.update(spec, { fresh: false }, () => Effect.fail("rejected" as const)))
      assert.strictEqual(rejection, "rejected")
      assert.strictEqual((yield* newer.start(spec)).runtimeVersion, runtimeVersion)
      const updated = yield* newer.update(spec, { fresh: true }, () => Effect.void)
      assert.strictEqual((yield* driver.start(spec)).runtimeVersion, updated.runtimeVersion)
    })
  )

  testDriver("An instance whose pod is deleted is published as an exit, and starts again", () =>
    Effect.gen(function* () {
      const { directory, driver, place } = yield* opened
      yield* driver.start(spec)
      const exit = yield* awaitFirstExit(driver)
      yield* ClusterClient.make(place.connection).remove("pods", namesOf(directory, owner).pod)
      assert.deepInclude(yield* exit, { owner })
      assert.strictEqual((yield* driver.start(spec)).owner, owner)
    })
  )

  testDriver("The files of removed agents are deleted, and a removed owner leaves no object", () =>
    Effect.gen(function* () {
      const { directory, driver, place } = yield* opened
      yield* driver.start(spec)
      yield* driver.removeOtherAgents(owner, [AgentId.make("agt_kept")])
      yield* driver.remove(owner)
      const client = ClusterClient.make(place.connection)
      const { name, pod, task } = namesOf(directory, owner)
      const left = yield* Effect.all([
        client.getStatefulSet(name),
        client.getPod(pod),
        client.getPod(task),
        client.getVolumeClaim(name)
      ])
      assert.deepStrictEqual(new Set(left.map(({ _tag }) => _tag)), new Set(["None"]))
      assert.notInclude(yield* driver.listOwners, owner)
    })
  )
})
