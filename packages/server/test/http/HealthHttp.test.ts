import * as HealthHttp from "@berth/server/http/HealthHttp"
import { HttpClient, HttpLayerRouter } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const app = (checks: Readonly<Record<string, Effect.Effect<boolean>>>) =>
  HttpLayerRouter.serve(HealthHttp.layer, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(Layer.succeed(HealthHttp.ReadinessChecks, { checks })),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

describe("/health/ready", () => {
  it.live("says no in time, also when a check neither ends nor can be broken off", () =>
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
