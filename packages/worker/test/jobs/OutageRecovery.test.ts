import type { QueueName } from "@berth/domain/jobs/JobKind"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref, TestClock } from "effect"
import * as OutageRecovery from "../../src/jobs/OutageRecovery.ts"

const reasons = {
  backend: "BackendUnavailable: ECONNREFUSED",
  database: "DependencyUnavailable: the database is unavailable",
  bug: "TypeError: not a function",
  permanent: "The event evt_1 is unreadable"
}

describe("OutageRecovery", () => {
  it.scoped("OutageRecovery replays the dead letters of outages every five minutes, except those of provisioning", () =>
    Effect.gen(function* () {
      const replayed = yield* Ref.make<ReadonlyArray<readonly [QueueName, string]>>([])
      const queue = Layer.mock(JobQueue, {
        deadLetters: () =>
          Effect.succeed(Object.entries(reasons).map(([id, reason]) => ({ id, name: "test", payload: null, reason }))),
        replay: (name, id) =>
          Effect.as(
            Ref.update(replayed, (current) => [...current, [name, id] as const]),
            true
          )
      })
      yield* Layer.build(Layer.provide(OutageRecovery.layer, queue))
      yield* TestClock.adjust("1 millis")
      const round = (["tasks", "mail", "card-events"] as const).flatMap((name) => [
        [name, "backend"] as const,
        [name, "database"] as const
      ])
      assert.deepStrictEqual(yield* replayed, round)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* replayed, [...round, ...round])
    })
  )
})
