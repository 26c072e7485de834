import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as ClusterClient from "@berth/infra/instance-drivers/kubernetes/ClusterClient"
import * as ClusterConnection from "@berth/infra/instance-drivers/kubernetes/ClusterConnection"
import {
  type ClusterError,
  isClusterFault,
  toClusterError
} from "@berth/infra/instance-drivers/kubernetes/ClusterErrors"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream, TestClock } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

/** A client of a server that sends the given responses in order, then none. */
const clientOf = (...responses: ReadonlyArray<{ readonly status: number; readonly body: object }>) => {
  const left = [...responses]
  return ClusterClient.make({
    address: "https://cluster.example",
    namespace: "instances",
    execute: (request) =>
      Effect.suspend(() => {
        const next = left.shift()
        return next === undefined
          ? Effect.never
          : Effect.succeed(
              HttpClientResponse.fromWeb(
                HttpClientRequest.make(request.method)(request.url),
                new Response(JSON.stringify(next.body), { status: next.status })
              )
            )
      })
  })
}

describe("ClusterClient", () => {
  it.effect("ClusterClient ends every call after ten seconds, with what to check", () =>
    Effect.gen(function* () {
      const client = clientOf()
      const calls: ReadonlyArray<Effect.Effect<unknown, ClusterError>> = [
        client.getPod("a"),
        client.scale("a", 0),
        client.remove("pods", "a"),
        client.apply("pods", {}),
        client.readLog("a", "runtime"),
        Stream.runDrain(client.watchPods("", "1"))
      ]
      for (const call of calls) {
        const fiber = yield* Effect.fork(Effect.flip(Effect.asVoid(call)))
        yield* TestClock.adjust("10 seconds")
        const error = yield* Fiber.join(fiber)
        assert.strictEqual(error._tag, "ClusterUnresponsive")
        assert.include(error.message, "within 10s. Check its load")
      }
    })
  )

  it.effect("ClusterClient.createPod is not repeated after an error, an apply is", () =>
    Effect.gen(function* () {
      const failed = { status: 503, body: { message: "overloaded" } }
      const created = yield* Effect.flip(clientOf(failed, { status: 201, body: {} }).createPod({}))
      assert.strictEqual(created._tag, "ClusterRequestRejected")
      const fiber = yield* Effect.fork(clientOf(failed, { status: 200, body: {} }).apply("pods", {}))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
    })
  )

  it.effect("ClusterClient.listPods reads all pages", () =>
    Effect.gen(function* () {
      const page = (name: string, next: object) => ({
        status: 200,
        body: { metadata: { resourceVersion: "7", ...next }, items: [{ metadata: { name }, spec: {} }] }
      })
      const { items } = yield* clientOf(page("a", { continue: "x" }), page("b", {})).listPods("")
      assert.deepStrictEqual(
        items.map(({ metadata }) => metadata.name),
        ["a", "b"]
      )
    })
  )

  it.effect("ClusterClient names a response of something else than an API server", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(clientOf({ status: 200, body: { hello: "world" } }).getPod("a"))
      assert.strictEqual(error._tag, "ClusterResponseMalformed")
    })
  )
})

describe("toClusterError", () => {
  const cases = [
    [401, "Unauthorized", "ClusterCredentialsRejected", true],
    [403, 'pods is forbidden: User "x" cannot list resource "pods"', "ClusterAccessForbidden", true],
    [403, 'pods "a" is forbidden: exceeded quota: compute', "ClusterQuotaExceeded", true],
    [403, 'pods "a" is forbidden: violates PodSecurity "restricted:latest"', "ClusterAdmissionDenied", true],
    [400, 'admission webhook "a" denied the request: no', "ClusterAdmissionDenied", true],
    [422, 'StatefulSet "a" is invalid', "ClusterRequestRejected", false],
    [409, "conflict", "ClusterRequestRejected", false],
    [429, "too many requests", "ClusterRequestRejected", true],
    [500, "etcd is away", "ClusterRequestRejected", true]
  ] as const
  it.each(cases)("toClusterError of status %i and %s is %s", (status, reason, tag, isFault) => {
    const error = toClusterError("GET /api/v1/pods", status, reason, 1)
    assert.deepStrictEqual([error._tag, isClusterFault(error)], [tag, isFault])
    assert.match(error.message, /\.$/)
  })
})

describe("ClusterConnection", () => {
  it.scoped("ClusterConnection.make reads the namespace of the context, unless it is set", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryDirectory, "config")
      const cluster = { name: "c", cluster: { server: "https://cluster.example:6443/" } }
      const context = { name: "x", context: { cluster: "c", user: "u", namespace: "of-the-context" } }
      const user = { name: "u", user: { token: "t" } }
      const config = { "current-context": "x", contexts: [context], clusters: [cluster], users: [user] }
      writeFileSync(file, JSON.stringify(config))
      const made = yield* ClusterConnection.make({ kubeconfig: Option.some(file), namespace: Option.none() })
      assert.deepInclude(made, { address: "https://cluster.example:6443", namespace: "of-the-context" })
      const set = yield* ClusterConnection.make({ kubeconfig: Option.some(file), namespace: Option.some("other") })
      assert.strictEqual(set.namespace, "other")
    })
  )

  it.scoped("ClusterConnection.make refuses a missing file, and one without a context", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryDirectory, "config")
      const open = (kubeconfig: string) =>
        Effect.flip(ClusterConnection.make({ kubeconfig: Option.some(kubeconfig), namespace: Option.none() }))
      const missing = yield* open(file)
      assert.strictEqual(missing._tag, "ClusterConfigurationInvalid")
      assert.include(missing.message, "ENOENT")
      writeFileSync(file, JSON.stringify({ contexts: [], clusters: [], users: [] }))
      assert.include((yield* open(file)).message, "no current context")
    })
  )
})
