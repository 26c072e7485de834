import { AgentManager } from "@berth/domain/instances/AgentManager"
import { CellIsUnavailable } from "@berth/domain/instances/InstanceErrors"
import { ReconfigureInstance } from "@berth/domain/jobs/Job"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { noRemoval } from "../accounts/NoRemoval.ts"
import { handlerOf } from "../../src/jobs/JobHandlers.ts"
import { noMail } from "../jobs/NoMail.ts"

const job = (change: Partial<RunningJob> = {}): RunningJob => ({
  id: "job_1",
  name: ReconfigureInstance.name,
  payload: { userId: "usr_1" },
  trace: null,
  attempt: 1,
  attempts: 5,
  ...change
})

const chat = () => {
  throw new Error("nobody chats here")
}

describe("the job that tells a cell of its agents", () => {
  it.effect("tells the cell of the owner", () =>
    Effect.gen(function* () {
      const asked = yield* Ref.make<ReadonlyArray<string>>([])
      const reconfigure = (userId: string) => Ref.update(asked, (so) => [...so, userId])
      yield* Effect.provide(handlerOf("tasks")(job()), [
        Layer.mock(AgentManager, { chat, reconfigure }),
        noMail,
        noRemoval
      ])
      assert.deepStrictEqual(yield* asked, ["usr_1"])
    })
  )

  it.effect("fails when the cell cannot be told, so that it is tried again", () =>
    Effect.gen(function* () {
      const reconfigure = () => new CellIsUnavailable({ reason: "it hangs" })
      const failure = yield* Effect.flip(
        Effect.provide(handlerOf("tasks")(job()), [Layer.mock(AgentManager, { chat, reconfigure }), noMail, noRemoval])
      )
      assert.deepInclude(failure, { _tag: "CellIsUnavailable", reason: "it hangs" })
    })
  )

  it.effect("is hopeless without an owner", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        Effect.provide(handlerOf("tasks")(job({ payload: {} })), [
          Layer.mock(AgentManager, { chat }),
          noMail,
          noRemoval
        ])
      )
      assert.strictEqual(failure._tag, "JobIsHopeless")
    })
  )
})
