import { afterAll, assert, beforeAll } from "@effect/vitest"
import { Effect, Option } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { objectAt, objectsAt, parseJson, textAt } from "../../fakes/kubernetes/Json.ts"
import { bundleHostileRuntime } from "../../support/RuntimeBundle.ts"
import { describeWithTool } from "../../support/RequiredTools.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { ada, makeInstanceSpec, testDriver, waitUntil } from "./InstanceDriverHosts.ts"
import {
  closeTestCluster,
  kubernetesDriver,
  namespaceOf,
  namesOf,
  testCluster,
  type TestCluster
} from "./KubernetesHost.ts"

const kubectl = {
  name: "kubectl",
  present: spawnSync("kubectl", ["version", "--client"]).status === 0,
  missingReason: "is not on the PATH (Debian package kubernetes-client)"
}

interface CommandResult {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

let cluster: TestCluster

const start = (args: ReadonlyArray<string>, kubeconfig = cluster.administrator) =>
  spawn("kubectl", [...args], { env: { ...process.env, KUBECONFIG: kubeconfig, HOME: "/nonexistent" } })

/** Runs a command of an independent client. */
const run = (args: ReadonlyArray<string>, kubeconfig?: string) =>
  Effect.async<CommandResult>((resume) => {
    const child = start(args, kubeconfig)
    let [output, errors] = ["", ""]
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
    child.once("close", (code) => resume(Effect.succeed({ code, output, errors })))
  })

const succeed = (args: ReadonlyArray<string>) =>
  Effect.map(run(args), ({ code, errors, output }) => {
    assert.strictEqual(code, 0, errors)
    return output
  })

const configMap = (data: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings", labels: { tier: "one" } },
  data
})

describeWithTool(kubectl, "The fake API server and kubectl", () => {
  beforeAll(async () => {
    cluster = await testCluster()
  })
  afterAll(closeTestCluster)

  /** A separate namespace, and a manifest file. */
  const workspace = Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const namespace = namespaceOf(directory)
    cluster.fake.createNamespace(namespace)
    const file = join(directory, "manifest.json")
    const write = (manifest: object) => Effect.promise(() => writeFile(file, JSON.stringify(manifest)))
    return { directory, namespace, file, write }
  })

  testDriver("kubectl applies, reads, labels and deletes an object", () =>
    Effect.gen(function* () {
      const { file, namespace, write } = yield* workspace
      const here = ["-n", namespace]
      yield* write(configMap({ color: "red", size: "1" }))
      assert.include(yield* succeed(["apply", "--validate=false", "-f", file, ...here]), "configmap/settings created")
      yield* write(configMap({ color: "blue" }))
      assert.include(
        yield* succeed(["apply", "--validate=false", "-f", file, ...here]),
        "configmap/settings configured"
      )
      const found = parseJson(yield* succeed(["get", "cm", "settings", "-o", "json", ...here]))
      assert.deepStrictEqual(objectAt(found, "data"), { color: "blue" })
      assert.include(yield* succeed(["get", "cm", "-l", "tier=one", ...here]), "settings")
      assert.include(yield* succeed(["label", "cm", "settings", "tier=two", "--overwrite", ...here]), "labeled")
      assert.notInclude(yield* succeed(["get", "cm", "-l", "tier=one", "-o", "name", ...here]), "settings")
      assert.include(yield* succeed(["delete", "cm", "settings", ...here]), "deleted")
      const gone = yield* run(["get", "cm", "settings", ...here])
      assert.strictEqual(gone.code, 1)
      assert.include(gone.errors, 'configmaps "settings" not found')
    })
  )

  testDriver("kubectl apply --server-side meets conflicts between managers, which --force-conflicts takes over", () =>
    Effect.gen(function* () {
      const { file, namespace, write } = yield* workspace
      const apply = (manager: string, ...more: ReadonlyArray<string>) =>
        run([
          "apply",
          "--server-side",
          "--validate=false",
          `--field-manager=${manager}`,
          "-f",
          file,
          "-n",
          namespace,
          ...more
        ])
      yield* write(configMap({ color: "red", size: "1" }))
      assert.strictEqual((yield* apply("one")).code, 0)
      yield* write(configMap({ color: "blue" }))
      const conflict = yield* apply("two")
      assert.strictEqual(conflict.code, 1)
      assert.include(conflict.errors, 'conflict with "one": .data.color')
      assert.strictEqual((yield* apply("two", "--force-conflicts")).code, 0)
      // The first manager releases only the fields that it no longer applies.
      yield* write(configMap({}))
      assert.strictEqual((yield* apply("one")).code, 0)
      const found = cluster.fake.store.get("configmaps", namespace, "settings")
      assert.deepStrictEqual(objectAt(found, "data"), { color: "blue" })
      const managers = objectsAt(found, "metadata", "managedFields").map((entry) => textAt(entry, "manager"))
      assert.deepStrictEqual(managers.toSorted(), ["one", "two"])
    })
  )

  testDriver("kubectl shows the objects, logs and deletion of an instance that the driver made", () =>
    Effect.gen(function* () {
      const { directory, namespace } = yield* workspace
      const program = yield* Effect.promise(() => bundleHostileRuntime("talks"))
      const driver = yield* kubernetesDriver({ directory, program, onClose: "stop" })
      yield* driver.start(makeInstanceSpec(ada))
      const { name, pod } = namesOf(directory, ada)
      const here = ["-n", namespace]
      const listed = yield* succeed([
        "get",
        "sts,pod,pvc,svc,secret,netpol,pdb",
        "-l",
        `berth.owner=${ada}`,
        "-o",
        "name",
        ...here
      ])
      assert.deepStrictEqual(
        listed.trim().split("\n").toSorted(),
        [
          `networkpolicy.networking.k8s.io/${name}`,
          `persistentvolumeclaim/${name}`,
          `pod/${pod}`,
          `poddisruptionbudget.policy/${name}`,
          `secret/${name}`,
          `service/${name}`,
          `statefulset.apps/${name}`
        ].toSorted()
      )
      yield* waitUntil(() => (cluster.fake.kubelet.readLog(namespace, pod, false) ?? "").includes("I am up"))
      assert.include(yield* succeed(["logs", pod, ...here]), "I am up")
      // The controller replaces a deleted pod; the driver reports its end as a crash.
      yield* succeed(["delete", "pod", pod, "--wait=false", ...here])
      yield* driver.stop(ada)
      assert.strictEqual(yield* succeed(["get", "pods", "-o", "name", ...here]), "")
      assert.deepStrictEqual(yield* driver.inspect(ada), Option.none())
    })
  )

  testDriver("kubectl get --watch sees an instance start and stop", () =>
    Effect.gen(function* () {
      const { directory, namespace } = yield* workspace
      const program = yield* Effect.promise(() => bundleHostileRuntime("behaves"))
      const driver = yield* kubernetesDriver({ directory, program, onClose: "stop" })
      let seen = ""
      const watching = yield* Effect.acquireRelease(
        Effect.sync(() => start(["get", "pods", "--watch", "-o", "jsonpath={.status.phase} ", "-n", namespace])),
        (child) => Effect.sync(() => child.kill())
      )
      watching.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()))
      yield* waitUntil(() => cluster.fake.countWatches() > 1)
      yield* driver.start(makeInstanceSpec(ada))
      yield* waitUntil(() => /Pending.*Running/.test(seen))
    })
  )

  testDriver("The API server refuses what kubectl may not do, and fields that do not exist", () =>
    Effect.gen(function* () {
      const { file, namespace, write } = yield* workspace
      const backend = yield* run(["get", "secrets", "-n", namespace], cluster.kubeconfig)
      assert.strictEqual(backend.code, 1)
      assert.include(backend.errors, 'cannot list resource "secrets"')
      yield* write({ ...configMap({}), dats: {} })
      const unknown = yield* run(["apply", "--server-side", "--validate=false", "-f", file, "-n", namespace])
      assert.include(unknown.errors, 'unknown field "dats"')
      yield* write({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "weak" },
        spec: { containers: [{ name: "weak", image: "image", securityContext: { privileged: true } }] }
      })
      const weak = yield* run(["create", "--validate=false", "-f", file, "-n", namespace])
      assert.include(weak.errors, 'violates PodSecurity "restricted:latest": privileged')
      assert.strictEqual(textAt(cluster.fake.store.get("pods", namespace, "weak"), "kind"), "")
    })
  )

  testDriver("kubectl replace with an outdated resource version is a conflict", () =>
    Effect.gen(function* () {
      const { file, namespace, write } = yield* workspace
      yield* write(configMap({ color: "red" }))
      yield* succeed(["create", "--validate=false", "-f", file, "-n", namespace])
      const before = parseJson(yield* succeed(["get", "cm", "settings", "-o", "json", "-n", namespace]))
      yield* succeed(["label", "cm", "settings", "tier=two", "--overwrite", "-n", namespace])
      yield* write(objectAt({ before }, "before"))
      const outdated = yield* run(["replace", "--validate=false", "-f", file, "-n", namespace])
      assert.strictEqual(outdated.code, 1)
      assert.include(outdated.errors, "the object has been modified")
    })
  )

  testDriver("kubectl accepts the manifests of deploy/kubernetes", () =>
    Effect.gen(function* () {
      const folder = new URL("../../../deploy/kubernetes", import.meta.url).pathname
      const { code, errors } = yield* run([
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "name",
        "-f",
        join(folder, "namespace.yaml")
      ])
      assert.strictEqual(code, 0, errors)
    })
  )
})
