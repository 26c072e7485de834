import { ReadinessChecks } from "@berth/api/http/Health"
import { HttpClient, HttpLayerRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
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
})
