import { HttpClient, HttpLayerRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import * as HealthListener from "../../src/health/HealthListener.ts"

const scene = Effect.gen(function* () {
  const database = yield* Ref.make<Effect.Effect<void, string>>(Effect.void)
  const checks = Layer.succeed(HealthListener.WorkerHealthChecks, {
    database: Effect.flatten(database),
    queue: Effect.succeed(7)
  })
  const server = HttpLayerRouter.serve(HealthListener.routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(checks),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )
  const context = yield* Layer.build(server)
  const ask = (path: string) =>
    HttpClient.get(path).pipe(
      Effect.flatMap((response) => Effect.map(response.json, (body) => [response.status, body] as const)),
      Effect.provide(context)
    )
  return { ask, database }
})

describe("HealthListener", () => {
  it.scopedLive("says that it is alive, and ready when all that it needs answers", () =>
    Effect.gen(function* () {
      const { ask } = yield* scene
      assert.deepStrictEqual(yield* ask("/health/live"), [200, { status: "ok" }])
      assert.deepStrictEqual(yield* ask("/health/ready"), [
        200,
        { status: "ok", checks: { database: true, queue: true } }
      ])
    })
  )

  it.scopedLive("is alive but not ready when something fails or does not answer", () =>
    Effect.gen(function* () {
      const { ask, database } = yield* scene
      for (const trouble of [Effect.fail("down"), Effect.dieMessage("down"), Effect.never]) {
        yield* Ref.set(database, trouble)
        assert.deepStrictEqual(yield* ask("/health/ready"), [
          503,
          { status: "unavailable", checks: { database: false, queue: true } }
        ])
        assert.deepStrictEqual(yield* ask("/health/live"), [200, { status: "ok" }])
      }
    })
  )

  it.scopedLive("knows nothing else", () =>
    Effect.gen(function* () {
      const { ask } = yield* scene
      const [status] = yield* ask("/")
      assert.strictEqual(status, 404)
    })
  )
})
