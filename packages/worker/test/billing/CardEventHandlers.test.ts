import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { CardEventUnreadable } from "@berth/domain/billing/events/CardEventReader"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "../jobs/UnusedPorts.ts"

/** Runs a job; returns its requests. */
const run = (name: string, payload: unknown, outcome: Effect.Effect<void, CardEventUnreadable> = Effect.void) =>
  Effect.gen(function* () {
    const requests: Array<string> = []
    const effects = Layer.mock(CardEventEffects, {
      _tag: "@berth/CardEventEffects",
      apply: (id) =>
        Effect.zipRight(
          Effect.sync(() => requests.push(`apply ${id}`)),
          outcome
        ),
      matchUser: (id) => Effect.sync(() => requests.push(`match ${id}`))
    })
    const job = { id: "job_1", name, payload, trace: null, attempt: 1, isLastAttempt: false }
    yield* Effect.provide(findHandler("card-events")(job), [unusedPorts, effects])
    return requests
  })

describe("The jobs about card events", () => {
  it.effect("The jobs about card events apply the named event and match the named user", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run("apply-card-event", { eventId: "evt_1" }), ["apply evt_1"])
      assert.deepStrictEqual(yield* run("match-card-events", { userId: "usr_1" }), ["match usr_1"])
    })
  )

  it.effect(
    "The jobs about card events fail permanently for an event that cannot be read, and wait when they name nothing",
    () =>
      Effect.gen(function* () {
        const unreadable = new CardEventUnreadable({ reason: "id" })
        const failures = [
          yield* Effect.flip(run("apply-card-event", {})),
          yield* Effect.flip(run("match-card-events", null)),
          yield* Effect.flip(run("apply-card-event", { eventId: "evt_1" }, unreadable))
        ]
        assert.deepStrictEqual(
          failures.map(({ _tag }) => _tag),
          ["JobUnsupported", "JobUnsupported", "JobPermanentlyFailed"]
        )
      })
  )
})
