import { ReadinessChecks } from "@berth/api/http/Health"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import * as MetricsListener from "@berth/infra/telemetry/MetricsListener"
import { renderPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { HttpClient, HttpLayerRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { lintMetrics } from "../../../../test/support/MetricLint.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Ref } from "effect"
import { createServer } from "node:http"
import { listenLocally } from "../../../../test/support/LocalServer.ts"
import * as HealthListener from "../../src/health/HealthListener.ts"

const makeListener = Effect.gen(function* () {
  const database = yield* Ref.make<Effect.Effect<void, string>>(Effect.void)
  const checks = Layer.succeed(ReadinessChecks, {
    checks: { database: Effect.flatten(database), queue: Effect.succeed(7) }
  })
  const server = HttpLayerRouter.serve(HealthListener.routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(checks),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )
  const context = yield* Layer.build(server)
  const request = (path: string) =>
    HttpClient.get(path).pipe(
      Effect.flatMap((response) => Effect.map(response.json, (body) => [response.status, body] as const)),
      Effect.provide(context)
    )
  return { request, database }
})

describe("HealthListener", () => {
  it.scopedLive("HealthListener is alive, and ready when every dependency responds", () =>
    Effect.gen(function* () {
      const { request } = yield* makeListener
      assert.deepStrictEqual(yield* request("/health/live"), [200, { status: "ok" }])
      assert.deepStrictEqual(yield* request("/health/ready"), [
        200,
        { status: "ok", checks: { database: true, queue: true } }
      ])
    })
  )

  it.scopedLive("HealthListener is alive but not ready when a dependency fails or does not respond", () =>
    Effect.gen(function* () {
      const { request, database } = yield* makeListener
      for (const failure of [Effect.fail("down"), Effect.dieMessage("down"), Effect.never]) {
        yield* Ref.set(database, failure)
        assert.deepStrictEqual(yield* request("/health/ready"), [
          503,
          { status: "unavailable", checks: { database: false, queue: true } }
        ])
        assert.deepStrictEqual(yield* request("/health/live"), [200, { status: "ok" }])
      }
    })
  )

  it.scopedLive("HealthListener responds with 404 to other paths", () =>
    Effect.gen(function* () {
      const { request } = yield* makeListener
      const [status] = yield* request("/")
      assert.strictEqual(status, 404)
    })
  )

  it.scopedLive("MetricsListener serves the metrics of its process with the jobs of the queues at /metrics alone", () =>
    Effect.gen(function* () {
      const counts = { waiting: 3, active: 1, delayed: 0, completed: 9, failed: 2 }
      const context = yield* HttpLayerRouter.serve(MetricsListener.metricsEndpoint(Effect.sync(renderPrometheus)), {
        disableLogger: true,
        disableListenLog: true
      }).pipe(
        Layer.provide(Layer.mock(JobQueue, { counts: () => Effect.succeed(counts) })),
        Layer.provideMerge(NodeHttpServer.layerTest),
        Layer.build
      )
      const text = yield* HttpClient.get("/metrics").pipe(
        Effect.flatMap((response) => response.text),
        Effect.provide(context)
      )
      assert.include(text, 'berth_queue_jobs{queue="tasks",state="waiting"} 3')
      assert.include(text, 'berth_queue_jobs{queue="mail",state="dead"} 2')
      // The registry of the process also has metrics of other tests.
      const own = (yield* lintMetrics(text)).filter((problem) => problem.startsWith("berth_"))
      assert.deepStrictEqual(own, [])
      const other = yield* Effect.provide(HttpClient.get("/other"), context)
      assert.strictEqual(other.status, 404)
    })
  )

  it.scopedLive("A process whose METRICS_PORT is taken runs without the metrics listener", () =>
    Effect.gen(function* () {
      const { port } = yield* listenLocally(createServer())
      yield* MetricsListener.fromSettings(
        { metrics: { host: "127.0.0.1", port: Option.some(Number(port)) } },
        Effect.succeed("")
      ).pipe(Layer.provide(Layer.mock(JobQueue, {})), Layer.build)
    })
  )
})
