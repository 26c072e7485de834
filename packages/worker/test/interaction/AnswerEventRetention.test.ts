import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, Ref, TestClock } from "effect"
import * as AnswerEventRetention from "../../src/interaction/AnswerEventRetention.ts"

describe("ExpiredAnswerEvents", () => {
  it.scoped("deletes what is older than it is kept, every half minute", () =>
    Effect.gen(function* () {
      const asked = yield* Ref.make<ReadonlyArray<number>>([])
      const streams = Layer.mock(AnswerStreams, {
        prune: (before) =>
          Effect.as(
            Ref.update(asked, (so) => [...so, DateTime.toEpochMillis(before)]),
            0
          )
      })
      const options = { streamRetention: Duration.minutes(5) }
      yield* TestClock.setTime(Duration.toMillis(Duration.minutes(10)))
      yield* Layer.build(Layer.provide(AnswerEventRetention.layer(options), streams))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* asked, [300_000, 330_000])
    })
  )
})
