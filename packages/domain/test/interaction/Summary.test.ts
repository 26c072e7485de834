import { acceptSummary, summaryLength } from "@berth/domain/interaction/Summary"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

describe("acceptSummary", () => {
  it.prop(
    "never stands for the message it was made for, nor for nothing",
    [FastCheck.integer({ min: 1, max: 100 }), FastCheck.integer(), FastCheck.string({ maxLength: 20 })],
    ([seq, upToSeq, summary]) =>
      Option.match(acceptSummary({ seq }, { summary, upToSeq }), {
        onNone: () => upToSeq < 1 || seq === 1 || summary.trim() === "",
        onSome: (kept) =>
          kept.upToSeq >= 1 && kept.upToSeq < seq && kept.upToSeq <= upToSeq && kept.text === summary.trim()
      })
  )

  it("keeps a long one in part", () => {
    const kept = acceptSummary({ seq: 9 }, { summary: "x".repeat(summaryLength + 1), upToSeq: 4 })
    assert.strictEqual(Option.getOrThrow(kept).text.length, summaryLength)
  })
})
