import type { RuntimeStats } from "@berth/api/runtime/RuntimeContract"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { UserId } from "@berth/domain/shared/UserId"
import * as InstanceMetrics from "@berth/infra/instance-drivers/InstanceMetrics"
import { readPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { HttpClient, HttpClientResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import { lintMetrics } from "../../../../test/support/MetricLint.ts"

const quick: RuntimeStats = {
  lagP99Seconds: 0.02,
  lagMaximumSeconds: 0.5,
  utilization: 0.25,
  collectionSeconds: 0.125,
  heapUsedBytes: 1000
}
const slow: RuntimeStats = { ...quick, lagP99Seconds: 0.04, lagMaximumSeconds: 0.25, utilization: 0.75 }

/** Bodies by owner. Instances are untrusted. */
const bodies: Readonly<Record<string, string>> = {
  quick: JSON.stringify(quick),
  slow: JSON.stringify(slow),
  negative: JSON.stringify({ ...quick, collectionSeconds: -1 }),
  huge: '{"lagP99Seconds":1e999,"lagMaximumSeconds":1,"utilization":1,"collectionSeconds":1,"heapUsedBytes":1}',
  text: "no figures"
}

const ownerOf = (url: string) => new URL(url).hostname

describe("InstanceMetrics", () => {
  it.scoped("InstanceMetrics reads the valid figures of running instances at once, and waits for none that hangs", () =>
    Effect.gen(function* () {
      const requests: Array<string> = []
      const client = HttpClient.make((request) => {
        const owner = ownerOf(request.url)
        assert.strictEqual(request.headers["authorization"], `Bearer token-of-${owner}`)
        requests.push(owner)
        const body = bodies[owner]
        return body === undefined
          ? Effect.never
          : Effect.succeed(HttpClientResponse.fromWeb(request, new Response(body)))
      })
      const read = yield* InstanceMetrics.make.pipe(
        Effect.provideService(HttpClient.HttpClient, client),
        Effect.provide(
          Layer.mock(InstanceRepository, {
            ensureRuntimeToken: (owner) => Effect.succeed(Redacted.make(`token-of-${owner}`))
          })
        )
      )
      const owners = [...Object.keys(bodies), "hanging"]
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          InstanceMetrics.addInstances(() =>
            owners.map((owner) => ({
              owner: UserId.make(owner),
              endpoint: `http://${owner}`,
              runtimeVersion: "1",
              startedAt: DateTime.unsafeMake(0)
            }))
          )
        ),
        (remove) => Effect.sync(remove)
      )
      const reading = yield* Effect.fork(read)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(reading)
      assert.sameMembers(requests, owners)
      const text = yield* readPrometheus
      for (const line of [
        "berth_instances_measured 2",
        "berth_instances_eventloop_lag_p99_seconds 0.04",
        "berth_instances_eventloop_lag_max_seconds 0.5",
        "berth_instances_eventloop_utilization_ratio 0.75",
        "berth_instances_heap_size_used_bytes 2000",
        "berth_instances_gc_duration_seconds_total 0.25"
      ])
        assert.include(text.split("\n"), line)
      const own = (yield* lintMetrics(text)).filter((problem) => problem.startsWith("berth_"))
      assert.deepStrictEqual(own, [])

      // Many readers cause one reading of the instances in five seconds.
      yield* read
      assert.lengthOf(requests, owners.length)
      owners.splice(1)
      yield* TestClock.adjust("5 seconds")
      yield* read
      assert.lengthOf(requests, 7)
      const later = (yield* readPrometheus).split("\n")
      assert.include(later, "berth_instances_measured 1")
      assert.include(later, "berth_instances_gc_duration_seconds_total 0.375")
    })
  )
})
