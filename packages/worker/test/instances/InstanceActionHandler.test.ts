import { InstanceNotFound, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { InstanceActionJob } from "@berth/domain/instances/InstanceJobs"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "../jobs/UnusedPorts.ts"

type Behavior = Parameters<typeof AgentManagerTest.layerWithBehavior>[0]

const run = (action: string, behavior: Behavior) =>
  findHandler("tasks")({
    id: "job_1",
    name: InstanceActionJob.name,
    payload: { userId: "usr_1", action },
    trace: null,
    attempt: 1,
    isLastAttempt: false
  }).pipe(Effect.provide([unusedPorts, AgentManagerTest.layerWithBehavior(behavior)]))

describe("instanceActionHandler", () => {
  it.effect("instanceActionHandler performs the action on the user's instance", () =>
    Effect.gen(function* () {
      const requests = yield* Ref.make<ReadonlyArray<string>>([])
      const note = (action: string) => (userId: string) =>
        Ref.update(requests, (current) => [...current, `${action} ${userId}`])
      const behavior: Behavior = {
        restart: (userId) => Effect.as(note("restart")(userId), { runtimeVersion: "1", healings: [] }),
        start: note("start"),
        stop: note("stop"),
        repair: note("repair")
      }
      for (const action of ["start", "stop", "restart", "repair"]) yield* run(action, behavior)
      assert.deepStrictEqual(yield* requests, ["start usr_1", "stop usr_1", "restart usr_1", "repair usr_1"])
    })
  )

  it.effect("instanceActionHandler ignores a missing instance and fails when one is unavailable", () =>
    Effect.gen(function* () {
      yield* run("stop", { stop: () => new InstanceNotFound() })
      const failure = yield* Effect.flip(run("start", { start: () => new InstanceUnavailable({ reason: "it hangs" }) }))
      assert.deepInclude(failure, { _tag: "InstanceUnavailable", reason: "it hangs" })
    })
  )
})
