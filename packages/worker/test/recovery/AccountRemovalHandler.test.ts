import { AccountInUse } from "@berth/domain/accounts/AccountErrors"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { AccountRemovedJob, RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "../jobs/UnusedPorts.ts"

/** Runs a job whose step has this outcome; returns the step that ran, and how the job ended. */
const run = (
  name: string,
  options: {
    readonly outcome?: Effect.Effect<void, AccountInUse | BackendUnavailable>
    readonly payload?: unknown
  } = {}
) =>
  Effect.gen(function* () {
    const done: Array<string> = []
    const { outcome = Effect.void, payload = { userId: "usr_1" } } = options
    const step = (what: string) =>
      Effect.zipLeft(
        outcome,
        Effect.sync(() => done.push(what))
      )
    const layers = Layer.mergeAll(
      unusedPorts,
      Layer.succeed(
        AccountRemoval,
        AccountRemoval.make({
          remove: (id) => Effect.catchTag(step(`rows of ${id}`), "BackendUnavailable", Effect.die)
        })
      ),
      AgentManagerTest.layerWithBehavior({
        remove: (id) => Effect.catchTag(step(`instance of ${id}`), "AccountInUse", Effect.die)
      })
    )
    const job = { id: "job_1", name, payload, trace: null, attempt: 1, isLastAttempt: false }
    const ended = yield* Effect.either(Effect.provide(findHandler("tasks")(job), layers))
    return { done, ended: ended._tag === "Right" ? "done" : ended.left._tag }
  })

describe("The job that removes an account", () => {
  it.effect("The job that removes an account removes the rows only", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run(RemoveAccountJob.name), { done: ["rows of usr_1"], ended: "done" })
    })
  )

  it.effect("The job that removes an account is retried while the rows are in use", () =>
    Effect.gen(function* () {
      const outcome = yield* run(RemoveAccountJob.name, { outcome: new AccountInUse() })
      assert.deepStrictEqual(outcome, { done: [], ended: "AccountInUse" })
    })
  )
})

describe("The job that removes the instance of a deleted account", () => {
  it.effect("The job that removes the instance of a deleted account removes the instance", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run(AccountRemovedJob.name), { done: ["instance of usr_1"], ended: "done" })
    })
  )

  it.effect("The job that removes the instance of a deleted account is retried while the backend is unavailable", () =>
    Effect.gen(function* () {
      const outcome = yield* run(AccountRemovedJob.name, { outcome: new BackendUnavailable({ reason: "it is down" }) })
      assert.deepStrictEqual(outcome, { done: [], ended: "BackendUnavailable" })
    })
  )

  it.effect("The jobs that remove an account and its instance do not support a payload without a user id", () =>
    Effect.gen(function* () {
      for (const { name } of [RemoveAccountJob, AccountRemovedJob])
        assert.deepStrictEqual(yield* run(name, { payload: {} }), { done: [], ended: "JobUnsupported" })
    })
  )
})
