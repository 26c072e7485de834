import { AccountInUse } from "@berth/domain/accounts/AccountErrors"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedMailPorts } from "../jobs/MailerFake.ts"

const job = (changes: Partial<RunningJob> = {}): RunningJob => ({
  id: "job_1",
  name: "remove-account",
  payload: { userId: "usr_1" },
  trace: null,
  attempt: 1,
  isLastAttempt: false,
  ...changes
})

/** Runs a job with what its two steps come to; answers what was done, in order. */
const run = (
  steps: {
    readonly rows?: Effect.Effect<void, AccountInUse>
    readonly cell?: Effect.Effect<void, BackendUnavailable>
  },
  given = job()
) =>
  Effect.gen(function* () {
    const done: Array<string> = []
    const step = <E>(what: string, outcome: Effect.Effect<void, E> = Effect.void) =>
      Effect.zipLeft(
        outcome,
        Effect.sync(() => done.push(what))
      )
    const layers = Layer.mergeAll(
      unusedMailPorts,
      Layer.succeed(AccountRemoval, AccountRemoval.make({ remove: (id) => step(`rows of ${id}`, steps.rows) })),
      Layer.mock(AgentManager, { chat: () => Stream.empty, remove: (id) => step(`cell of ${id}`, steps.cell) })
    )
    const outcome = yield* Effect.either(Effect.provide(findHandler("tasks")(given), layers))
    return { done, outcome: outcome._tag === "Right" ? "done" : outcome.left._tag }
  })

describe("The job that removes an account", () => {
  it.effect("takes the rows first, and then the cell that nothing brings back any more", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run({}), { done: ["rows of usr_1", "cell of usr_1"], outcome: "done" })
    })
  )

  it.effect("comes again when the rows are in use, and leaves the cell until then", () =>
    Effect.gen(function* () {
      const outcome = yield* run({ rows: new AccountInUse() })
      assert.deepStrictEqual(outcome, { done: [], outcome: "AccountInUse" })
    })
  )

  it.effect("comes again when the backend is away", () =>
    Effect.gen(function* () {
      const outcome = yield* run({ cell: new BackendUnavailable({ reason: "it is down" }) })
      assert.deepStrictEqual(outcome, { done: ["rows of usr_1"], outcome: "BackendUnavailable" })
    })
  )

  it.effect("is hopeless when it does not say whose", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run({}, job({ payload: {} })), { done: [], outcome: "JobPermanentlyFailed" })
    })
  )
})
