import { AgentManager } from "@berth/domain/instances/AgentManager"
import { InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { unusedAccountRemoval } from "../recovery/AccountRemovalFake.ts"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedMailPorts } from "../jobs/MailerFake.ts"
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

const chat = () => {
  throw new Error("nobody chats here")
}

describe("instanceConfigurationHandler", () => {
  it.effect("instanceConfigurationHandler reconfigures the owner's instance", () =>
    Effect.gen(function* () {
      const asked = yield* Ref.make<ReadonlyArray<string>>([])
      const reconfigure = (userId: string) => Ref.update(asked, (so) => [...so, userId])
      yield* Effect.provide(findHandler("tasks")(job()), [
        Layer.mock(AgentManager, { chat, reconfigure }),
        unusedMailPorts,
        unusedAccountRemoval
      ])
      assert.deepStrictEqual(yield* asked, ["usr_1"])
    })
  )

  it.effect("instanceConfigurationHandler fails when the instance is unavailable, so that the job is retried", () =>
    Effect.gen(function* () {
      const reconfigure = () => new InstanceUnavailable({ reason: "it hangs" })
      const failure = yield* Effect.flip(
        Effect.provide(findHandler("tasks")(job()), [
          Layer.mock(AgentManager, { chat, reconfigure }),
          unusedMailPorts,
          unusedAccountRemoval
        ])
      )
      assert.deepInclude(failure, { _tag: "InstanceUnavailable", reason: "it hangs" })
    })
  )

  it.effect("instanceConfigurationHandler fails permanently without an owner", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        Effect.provide(findHandler("tasks")(job({ payload: {} })), [
          Layer.mock(AgentManager, { chat }),
          unusedMailPorts,
          unusedAccountRemoval
        ])
      )
      assert.strictEqual(failure._tag, "JobPermanentlyFailed")
    })
  )
})
