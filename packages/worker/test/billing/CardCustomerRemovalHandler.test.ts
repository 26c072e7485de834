import { CardProcessor, CardProcessorUnavailable } from "@berth/domain/billing/checkout/CardProcessor"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "../jobs/UnusedPorts.ts"

/** Runs the job with an available or unavailable card processor; returns the removed customers. */
const run = (payload: unknown, isUp = true) =>
  Effect.gen(function* () {
    const removed: Array<string> = []
    const cards = Layer.mock(CardProcessor, {
      removeCustomer: (id) =>
        isUp ? Effect.sync(() => void removed.push(id)) : new CardProcessorUnavailable({ reason: "down" }),
      cancelSubscription: (id) => Effect.sync(() => void removed.push(`canceled ${id}`))
    })
    const job = { id: "job_1", name: "forget-card-customers", payload, trace: null, attempt: 1, isLastAttempt: false }
    const outcome = yield* findHandler("tasks")(job).pipe(Effect.provide([unusedPorts, cards]), Effect.either)
    return { removed, failure: outcome._tag === "Left" ? outcome.left._tag : null }
  })

describe("The job that ends the card payments of a deleted account", () => {
  const payload = { customerIds: ["cus_1", "cus_2"] }

  it.effect("The job that removes card customers is idempotent", () =>
    Effect.gen(function* () {
      for (const _ of [1, 2]) assert.deepEqual(yield* run(payload), { removed: ["cus_1", "cus_2"], failure: null })
    })
  )

  it.effect("The job that removes card customers ends a subscription without a customer", () =>
    Effect.gen(function* () {
      const { removed } = yield* run({ customerIds: ["sub_1", "cus_1"] })
      assert.deepEqual(removed, ["canceled sub_1", "cus_1"])
    })
  )

  it.effect("The job that removes card customers is retried while the card processor is down", () =>
    Effect.gen(function* () {
      assert.deepEqual(yield* run(payload, false), { removed: [], failure: "CardProcessorUnavailable" })
    })
  )

  it.effect("The job that removes card customers does not support another payload", () =>
    Effect.gen(function* () {
      assert.deepEqual(yield* run({ customer: 7 }), { removed: [], failure: "JobUnsupported" })
    })
  )
})
