import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { imageOf, openTestCluster } from "../adapters/instance-drivers/KubernetesHost.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { freePort } from "../support/FreePort.ts"
import { root, startBerth } from "./BerthProcess.ts"
import { runMainJob } from "./MainJobSteps.ts"
import { signUpClient } from "./WebClient.ts"

const namespace = "berth-instances"
const owner = { email: "owner@berth.local", password: "the-owner's-own-9f3" }

describe("Berth on Kubernetes", () => {
  it.scopedLive("Berth on Kubernetes does its main job with an instance in a pod", () =>
    Effect.gen(function* () {
      const { fake, kubeconfig } = yield* openTestCluster
      fake.createNamespace(namespace)
      const port = yield* freePort
      const berth = yield* startBerth({
        databaseUrl: yield* migratedDatabase,
        environment: {
          AGENT_RUNTIME: "kubernetes",
          KUBECONFIG: kubeconfig,
          KUBE_NAMESPACE: namespace,
          RUNTIME_IMAGE: imageOf(join(root, "dist", "runtime", "runtime.mjs")),
          RUNTIME_BACKEND_URL: `http://127.0.0.1:${port}`
        }
      })
      assert.include(yield* berth.logs, `The runtime API listens on http://0.0.0.0:${port}`)
      const person = yield* signUpClient(berth.webUrl, "owner", owner)
      yield* runMainJob(person)
      const countOf = (kind: string) => fake.store.list(kind, namespace).length
      assert.deepStrictEqual(["pods", "statefulsets"].map(countOf), [1, 1])
      yield* berth.signal("SIGTERM")
      assert.deepStrictEqual(yield* berth.ended, { code: 0, signal: null })
      assert.deepStrictEqual(["pods", "persistentvolumeclaims"].map(countOf), [0, 1])
    })
  )
})
