import type { AgentId } from "@berth/domain/shared/AgentId"
import type { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { afterAll, assert, beforeAll, beforeEach, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Option, Stream } from "effect"
import { objectAt, textAt, textsAt } from "../../fakes/kubernetes/Json.ts"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  awaitFirstExit,
  bob,
  makeInstanceSpec,
  testDriver,
  waitUntil,
  waitUntilEffect
} from "./InstanceDriverHosts.ts"
import {
  closeTestCluster,
  findPodPid,
  imageOf,
  kubernetesDriver,
  namespaceOf,
  namesOf,
  readRole,
  testCluster,
  type TestCluster
} from "./KubernetesHost.ts"

let cluster: TestCluster
let older = ""
let newer = ""
const podTimeout = Duration.seconds(2)

const open = (directory: string, program = older) =>
  kubernetesDriver({ directory, program, onClose: "stop", podTimeout })

const openNew = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  return { directory, driver: yield* open(directory) }
})
const openStarted = Effect.tap(openNew, ({ driver }) => driver.start(makeInstanceSpec(ada)))

const noAgents: ReadonlyArray<AgentId> = []
const kinds = [
  "statefulsets",
  "pods",
  "services",
  "secrets",
  "networkpolicies",
  "poddisruptionbudgets",
  "persistentvolumeclaims"
]

/** The objects of a directory's namespace, counted by kind. */
const countObjects = (directory: string) =>
  Object.fromEntries(kinds.map((kind) => [kind, cluster.fake.store.list(kind, namespaceOf(directory)).length] as const))
const everyKind = (count: number) => Object.fromEntries(kinds.map((kind) => [kind, count]))

const setOf = (directory: string) =>
  cluster.fake.store.get("statefulsets", namespaceOf(directory), namesOf(directory, ada).name)
const claimSize = (directory: string) =>
  textAt(
    cluster.fake.store.get("persistentvolumeclaims", namespaceOf(directory), namesOf(directory, ada).name),
    "spec",
    "resources",
    "requests",
    "storage"
  )

/** A driver, and the error of a start during a fault of the cluster. */
const startDuring = (fault: () => void, program = older) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const driver = yield* open(directory, program)
    fault()
    const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
    assert.deepStrictEqual(countObjects(directory)["pods"], 0)
    return { directory, driver, failure }
  })

const startAfterwards = (driver: InstanceDriver["Type"]) =>
  Effect.map(driver.start(makeInstanceSpec(ada)), ({ owner }) => assert.strictEqual(owner, ada))

describe("KubernetesInstanceDriver", () => {
  beforeAll(async () => {
    cluster = await testCluster()
    older = await bundleHostileRuntime("behaves", "1.0.0")
    newer = await bundleHostileRuntime("behaves", "2.0.0")
  })
  afterAll(closeTestCluster)
  beforeEach(() => {
    const { faults, podQuotas } = cluster.fake
    podQuotas.clear()
    Object.assign(faults, { intercept: () => undefined, denial: () => "", unschedulable: "", bindsClaims: true })
  })

  testDriver("KubernetesInstanceDriver.remove leaves no object of the owner", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      assert.deepStrictEqual(countObjects(directory), everyKind(1))
      yield* driver.start(makeInstanceSpec(bob))
      yield* driver.removeOtherAgents(ada, noAgents)
      yield* driver.remove(ada)
      assert.deepStrictEqual(countObjects(directory), everyKind(1))
      assert.deepStrictEqual(yield* driver.listOwners, [bob])
      yield* driver.remove(bob)
      assert.deepStrictEqual(countObjects(directory), everyKind(0))
    })
  )

  testDriver("KubernetesInstanceDriver.remove leaves no task that a killed backend left", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const { task } = namesOf(directory, ada)
      cluster.fake.store.put("pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: task, namespace: namespaceOf(directory) },
        spec: {
          restartPolicy: "Never",
          containers: [{ name: "task", image: imageOf(older), command: ["node", "-e", "0"] }]
        }
      })
      yield* driver.remove(ada)
      assert.deepStrictEqual(countObjects(directory), everyKind(0))
    })
  )

  testDriver("KubernetesInstanceDriver names an API server that is away, and recovers", () =>
    Effect.gen(function* () {
      const { driver, failure } = yield* startDuring(() => {
        cluster.fake.faults.intercept = () => "reset"
      })
      assert.strictEqual(failure._tag, "InstanceHostUnavailable")
      assert.match(failure.reason, /The Kubernetes API server at .+ cannot be reached \(\w+\)\. Check KUBECONFIG/)
      for (const call of [driver.stop(ada), driver.remove(ada), driver.listOwners, driver.inspect(ada)])
        assert.strictEqual((yield* Effect.flip(Effect.asVoid(call)))._tag, "InstanceHostUnavailable")
      cluster.fake.faults.intercept = () => undefined
      yield* startAfterwards(driver)
    })
  )

  testDriver("KubernetesInstanceDriver repeats calls that conflict or that the server defers", () =>
    Effect.gen(function* () {
      const { driver } = yield* openNew
      const statuses = [409, 503, 429]
      cluster.fake.faults.intercept = (method) => {
        const status = method === "PATCH" ? statuses.pop() : undefined
        return status === undefined ? undefined : { status, message: "not now" }
      }
      yield* startAfterwards(driver)
      assert.deepStrictEqual(statuses, [])
    })
  )

  testDriver("KubernetesInstanceDriver names rejected credentials and missing rights", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const forbidden = yield* Effect.flip(
        kubernetesDriver({ directory, program: older, onClose: "leave", kubeconfig: cluster.stranger })
      )
      assert.include(String(forbidden), "ClusterAccessForbidden")
      const driver = yield* open(directory)
      cluster.fake.faults.intercept = () => ({ status: 401, message: "Unauthorized" })
      const rejected = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
      assert.strictEqual(rejected._tag, "InstanceHostUnavailable")
      assert.match(rejected.reason, /rejected the backend's credentials .* \(401\)\. Renew them in KUBECONFIG/)
      const message = 'pods is forbidden: User "x" cannot list resource "pods"'
      cluster.fake.faults.intercept = () => ({ status: 403, message })
      const refused = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
      assert.strictEqual(refused._tag, "InstanceHostUnavailable")
      assert.include(refused.reason, "Apply the Role of deploy/kubernetes/rbac.yaml")
    })
  )

  testDriver("KubernetesInstanceDriver names a used quota, and starts once it is raised", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openNew
      cluster.fake.podQuotas.set(namespaceOf(directory), 0)
      const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
      assert.strictEqual(failure._tag, "InstanceHostUnavailable")
      assert.match(failure.reason, /A quota of the Kubernetes namespace is used up: .*exceeded quota.* Raise it/)
      cluster.fake.podQuotas.delete(namespaceOf(directory))
      // The warning of the first start is still there.
      yield* startAfterwards(driver)
    })
  )

  testDriver("KubernetesInstanceDriver names the admission policy that denies a pod", () =>
    Effect.gen(function* () {
      const message = 'admission webhook "policy.example.com" denied the request: no pods today'
      const { failure } = yield* startDuring(() => {
        cluster.fake.faults.denial = (object) => (textAt(object, "kind") === "Pod" ? message : "")
      })
      assert.strictEqual(failure._tag, "InstanceHostUnavailable")
      assert.match(failure.reason, /admission policy .* denies the instance: .*no pods today/)
    })
  )

  testDriver("KubernetesInstanceDriver names the admission policy that denies an object", () =>
    Effect.gen(function* () {
      const message = 'admission webhook "policy.example.com" denied the request: no secrets today'
      const { failure } = yield* startDuring(() => {
        cluster.fake.faults.denial = (object) => (textAt(object, "kind") === "Secret" ? message : "")
      })
      assert.match(failure.reason, /admission policy .* denies the instance: .*no secrets today/)
    })
  )

  testDriver("KubernetesInstanceDriver names an image that cannot be pulled", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* kubernetesDriver({
        directory,
        program: older,
        onClose: "stop",
        image: "registry.example.com/none:1"
      })
      const failure = yield* Effect.flip(driver.start(makeInstanceSpec(ada)))
      assert.strictEqual(failure._tag, "InstanceStartFailed")
      assert.match(failure.reason, /its image cannot be pulled \(ImagePullBackOff: .*\)\. Check RUNTIME_IMAGE/)
      assert.strictEqual(countObjects(directory)["pods"], 0)
    })
  )

  testDriver("KubernetesInstanceDriver names nodes that are full, and leaves no pod that waits for one", () =>
    Effect.gen(function* () {
      const { driver, failure } = yield* startDuring(() => {
        cluster.fake.faults.unschedulable = "0/3 nodes are available: 3 Insufficient memory."
      })
      assert.strictEqual(failure._tag, "InstanceHostUnavailable")
      assert.match(failure.reason, /did not run within 2s: 0\/3 nodes are available: 3 Insufficient memory/)
      cluster.fake.faults.unschedulable = ""
      yield* startAfterwards(driver)
    })
  )

  testDriver("KubernetesInstanceDriver names a volume claim that no class serves", () =>
    Effect.gen(function* () {
      const { failure } = yield* startDuring(() => {
        cluster.fake.faults.bindsClaims = false
      })
      assert.strictEqual(failure._tag, "InstanceHostUnavailable")
      assert.match(failure.reason, /The volume claim .+ is not bound\. Check the storage class/)
    })
  )

  testDriver("KubernetesInstanceDriver finds an exit while its watch has expired", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const exit = yield* awaitFirstExit(driver)
      const pid = yield* findPodPid(directory, ada)
      // No watch runs while the pod ends, and the version of the last one has expired.
      cluster.fake.faults.intercept = (_, path) => (path.endsWith("/pods") ? "reset" : undefined)
      cluster.fake.endWatches()
      process.kill(pid, "SIGKILL")
      yield* waitUntilEffect(Effect.map(findPodPid(directory, ada), (current) => current !== pid))
      cluster.fake.store.compact()
      cluster.fake.faults.intercept = () => undefined
      assert.include((yield* exit).reason, "SIGKILL")
    })
  )

  testDriver("KubernetesInstanceDriver names the exit that only health checks have noticed", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* kubernetesDriver({
        directory,
        program: older,
        onClose: "stop",
        podTimeout,
        intervals: { health: "100 millis" }
      })
      yield* driver.start(makeInstanceSpec(ada))
      const exit = yield* awaitFirstExit(driver)
      cluster.fake.faults.intercept = (_, path) => (path.endsWith("/pods") ? "reset" : undefined)
      cluster.fake.endWatches()
      process.kill(yield* findPodPid(directory, ada), "SIGKILL")
      assert.include((yield* exit).reason, "SIGKILL")
    })
  )

  testDriver("KubernetesInstanceDriver resumes an ended watch at its last bookmark", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const exit = yield* awaitFirstExit(driver)
      let lists = 0
      cluster.fake.endWatches()
      cluster.fake.faults.intercept = (method, path) => {
        if (method === "GET" && path.endsWith("/pods")) lists += 1
        return undefined
      }
      // A resumed watch is one request; a list is another.
      yield* waitUntil(() => lists > 0)
      process.kill(yield* findPodPid(directory, ada), "SIGKILL")
      yield* exit
      assert.strictEqual(lists, 1)
    })
  )

  testDriver("KubernetesInstanceDriver publishes the end of a pod that the cluster removes", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const exit = yield* awaitFirstExit(driver)
      const { pod } = namesOf(directory, ada)
      cluster.fake.store.change("pods", namespaceOf(directory), pod, (found) => ({
        ...found,
        metadata: {
          ...objectAt(found, "metadata"),
          deletionTimestamp: "2026-01-01T00:00:00Z",
          deletionGracePeriodSeconds: 6
        }
      }))
      assert.match((yield* exit).reason, /the cluster (is removing|removed) its pod/)
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
      yield* startAfterwards(driver)
    })
  )

  testDriver("KubernetesInstanceDriver.update returns to the accepted digest after a crash before its acceptance", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(Effect.flatMap(open(directory), (driver) => driver.start(makeInstanceSpec(ada))))
      // A backend that is killed while its update waits: its pod runs, and it makes no more calls.
      const accepting = yield* Deferred.make<void>()
      const crashed = yield* kubernetesDriver({ directory, program: newer, onClose: "leave", podTimeout })
      yield* Effect.forkDaemon(
        crashed.update(makeInstanceSpec(ada), { fresh: false }, () =>
          Effect.zipRight(Deferred.succeed(accepting, undefined), Effect.never)
        )
      )
      yield* Deferred.await(accepting)
      const imageNow = () => textAt(objectAt(setOf(directory), "metadata", "annotations"), "berth.accepted-image")
      assert.strictEqual(imageNow(), imageOf(older))
      const next = yield* open(directory, newer)
      const instance = yield* next.start(makeInstanceSpec(ada))
      assert.strictEqual(instance.runtimeVersion, "1.0.0")
      const updated = yield* next.update(makeInstanceSpec(ada), { fresh: false }, () => Effect.void)
      assert.deepStrictEqual([updated.runtimeVersion, imageNow()], ["2.0.0", imageOf(newer)])
    })
  )

  testDriver("KubernetesInstanceDriver takes back the fields of an instance that another manager changed", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      yield* driver.stop(ada)
      cluster.fake.store.change("statefulsets", namespaceOf(directory), namesOf(directory, ada).name, (found) => ({
        ...found,
        spec: { ...objectAt(found, "spec"), updateStrategy: { type: "RollingUpdate" } }
      }))
      yield* startAfterwards(driver)
      assert.strictEqual(textAt(setOf(directory), "spec", "updateStrategy", "type"), "OnDelete")
    })
  )

  testDriver("KubernetesInstanceDriver enlarges a volume with the plan, and never shrinks it", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openNew
      for (const [diskMb, size] of [
        [256, "256Mi"],
        [512, "512Mi"],
        [128, "512Mi"]
      ] as const) {
        yield* driver.start(makeInstanceSpec(ada, { diskMb }))
        assert.strictEqual(claimSize(directory), size)
      }
    })
  )

  testDriver("KubernetesInstanceDriver starts an instance whose volume cannot be enlarged", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* openStarted
      const message = "only dynamically provisioned pvc can be resized"
      cluster.fake.faults.intercept = (method, path) =>
        method === "PATCH" && path.includes("/persistentvolumeclaims/") ? { status: 403, message } : undefined
      yield* driver.start(makeInstanceSpec(ada, { diskMb: 512 }))
      assert.strictEqual(claimSize(directory), "256Mi")
    })
  )

  testDriver("KubernetesInstanceDriver provides no figures without a metrics server", () =>
    Effect.gen(function* () {
      const { driver } = yield* openStarted
      cluster.fake.faults.hasMetrics = false
      const stats = Option.getOrThrow(yield* driver.stats(ada))
      cluster.fake.faults.hasMetrics = true
      assert.deepInclude(stats, { cpuPercent: null, memoryBytes: null, memoryLimitBytes: 256 * 1024 * 1024 })
    })
  )

  testDriver("The Role of deploy/kubernetes grants exactly the verbs that the driver uses", () =>
    Effect.gen(function* () {
      const { driver } = yield* openNew
      const exits = yield* Effect.fork(Stream.runDrain(driver.exits))
      yield* driver.start(makeInstanceSpec(ada))
      yield* driver.stats(ada)
      assert.deepStrictEqual(yield* driver.listRunning, [ada])
      yield* driver.logs(ada, { limit: 1 })
      yield* driver.removeOtherAgents(ada, noAgents)
      yield* driver.remove(ada)
      yield* Fiber.interrupt(exits)
      const granted = readRole().flatMap((rule) =>
        textsAt(rule, "apiGroups").flatMap((group) =>
          textsAt(rule, "resources").flatMap((resource) =>
            textsAt(rule, "verbs").map((verb) => `${group}/${resource} ${verb}`)
          )
        )
      )
      assert.deepStrictEqual([...cluster.fake.usedVerbs].toSorted(), granted.toSorted())
    })
  )
})
