import { validateSummary, maximumSummaryLength } from "@berth/domain/interaction/memory/ConversationSummary"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

describe("validateSummary", () => {
  it.prop(
    "validateSummary rejects an empty summary and one that covers the current message",
    [FastCheck.integer({ min: 1, max: 100 }), FastCheck.integer(), FastCheck.string({ maxLength: 20 })],
    ([seq, upToSeq, summary]) =>
      Option.match(validateSummary({ seq }, { summary, upToSeq }), {
        onNone: () => upToSeq < 1 || seq === 1 || summary.trim() === "",
        onSome: (kept) =>
          kept.upToSeq >= 1 && kept.upToSeq < seq && kept.upToSeq <= upToSeq && kept.text === summary.trim()
      })
  )

  it("validateSummary truncates a long summary", () => {
    const kept = validateSummary({ seq: 9 }, { summary: "x".repeat(maximumSummaryLength + 1), upToSeq: 4 })
    assert.strictEqual(Option.getOrThrow(kept).text.length, maximumSummaryLength)
  })
})
