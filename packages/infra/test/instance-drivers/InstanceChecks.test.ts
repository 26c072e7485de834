import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { UserId } from "@berth/domain/shared/UserId"
import * as InstanceChecks from "@berth/infra/instance-drivers/InstanceChecks"
import { make as makeClient } from "@berth/infra/runtime/RuntimeClient"
import { readPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { HttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { lintMetrics } from "../../../../test/support/MetricLint.ts"

const megabyte = 1024 * 1024

const makeRunning = (owner: string): { readonly instance: RunningInstance } => ({
  instance: {
    owner: UserId.make(owner),
    endpoint: "http://localhost",
    runtimeVersion: "1",
    startedAt: DateTime.unsafeMake(0)
  }
})

describe("InstanceChecks", () => {
  it.scoped("InstanceChecks measures memory and CPU of all running instances together", () =>
    Effect.gen(function* () {
      const cpuSeconds = Effect.map(readPrometheus, (text) =>
        Number(/^berth_instances_cpu_seconds_total (\S+)$/m.exec(text)?.[1] ?? 0)
      )
      const before = yield* cpuSeconds
      const running = [makeRunning("usr_1"), makeRunning("usr_2")] as const
      let listed: ReadonlyArray<(typeof running)[number]> = running
      const checks = yield* InstanceChecks.make({
        list: () => listed,
        logOf: () => ({ log: "none", rotatedLog: "none" }),
        endWithReason: () => Effect.void,
        client: makeClient(HttpClient.make(() => Effect.never))
      })
      yield* checks.checkMemory(running[0], 30 * megabyte, 256)
      yield* checks.checkMemory(running[1], 40 * megabyte, 256)
      for (const cpuMs of [1000, 3500]) yield* checks.recordCpu(running[0], cpuMs)
      const all = yield* readPrometheus
      for (const line of ["berth_instances_running 2", `berth_instances_memory_bytes ${70 * megabyte}`])
        assert.include(all.split("\n"), line)
      assert.closeTo((yield* cpuSeconds) - before, 2.5, 1e-6)
      // The registry of the process also has metrics of other tests.
      const own = (yield* lintMetrics(all)).filter((problem) => problem.startsWith("berth_"))
      assert.deepStrictEqual(own, [])
      listed = running.slice(0, 1)
      assert.include((yield* readPrometheus).split("\n"), `berth_instances_memory_bytes ${30 * megabyte}`)
    })
  )
})
