import { healthRoutes, ReadinessChecks } from "@berth/api/http/Health"
import { HttpClient, HttpLayerRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const app = (checks: Readonly<Record<string, Effect.Effect<boolean>>>) =>
  HttpLayerRouter.serve(healthRoutes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(Layer.succeed(ReadinessChecks, { checks })),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

describe("/health/ready", () => {
  it.live("/health/ready responds 503 in time when a check hangs uninterruptibly", () =>
    Effect.gen(function* () {
      const answer = yield* HttpClient.get("/health/ready")
      assert.strictEqual(answer.status, 503)
      assert.deepStrictEqual(yield* answer.json, { status: "unavailable", checks: { stuck: false, fine: true } })
    }).pipe(
      Effect.provide(app({ stuck: Effect.uninterruptible(Effect.never), fine: Effect.succeed(true) })),
      Effect.scoped
    )
  )
})
