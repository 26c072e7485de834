import { InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "../jobs/UnusedPorts.ts"
import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"

const job = (change: Partial<RunningJob> = {}): RunningJob => ({
  id: "job_1",
  name: ReconfigureInstanceJob.name,
  payload: { userId: "usr_1" },
  trace: null,
  attempt: 1,
  isLastAttempt: false,
  ...change
})

describe("instanceConfigurationHandler", () => {
  it.effect("instanceConfigurationHandler reconfigures the owner's instance", () =>
    Effect.gen(function* () {
      const requests = yield* Ref.make<ReadonlyArray<string>>([])
      const reconfigure = (userId: string) => Ref.update(requests, (current) => [...current, userId])
      yield* Effect.provide(findHandler("tasks")(job()), [
        unusedPorts,
        AgentManagerTest.layerWithBehavior({ reconfigure })
      ])
      assert.deepStrictEqual(yield* requests, ["usr_1"])
    })
  )

  it.effect("instanceConfigurationHandler fails when the instance is unavailable, so that the job is retried", () =>
    Effect.gen(function* () {
      const reconfigure = () => new InstanceUnavailable({ reason: "it hangs" })
      const failure = yield* Effect.flip(
        Effect.provide(findHandler("tasks")(job()), [unusedPorts, AgentManagerTest.layerWithBehavior({ reconfigure })])
      )
      assert.deepInclude(failure, { _tag: "InstanceUnavailable", reason: "it hangs" })
    })
  )

  it.effect("instanceConfigurationHandler does not support a payload without an owner", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Effect.provide(findHandler("tasks")(job({ payload: {} })), unusedPorts))
      assert.strictEqual(failure._tag, "JobUnsupported")
    })
  )
})
