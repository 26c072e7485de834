import { findNewestFitting } from "@berth/domain/ai/prompt/PromptBudget"
import { countMessagesToSummarize } from "@berth/runtime/interaction/Compaction"
import { assert, it } from "@effect/vitest"
import { FastCheck } from "effect"

const history = FastCheck.array(
  FastCheck.record({
    role: FastCheck.constantFrom("user" as const, "assistant" as const),
    // Even an empty message has tokens for its framing.
    tokens: FastCheck.integer({ min: 1, max: 3_000 })
  }),
  { maxLength: 60 }
).map((all) => all.map((message, at) => ({ ...message, seq: at + 1 })))

const sum = (all: ReadonlyArray<{ readonly tokens: number }>) => all.reduce((total, { tokens }) => total + tokens, 0)

it.prop(
  "Compaction summarizes exactly conversations above 60 % of the window, and leaves room",
  [history, FastCheck.integer({ min: 1_000, max: 100_000 }), FastCheck.nat(50_000)],
  ([messages, window, fixed]) => {
    const summary = Math.floor(window / 20)
    const count = countMessagesToSummarize({ window, fixed, history: messages, summary })
    assert.isAtLeast(count, 0)
    assert.isAtMost(count, messages.length)
    if (fixed + sum(messages) <= window * 0.6) assert.strictEqual(count, 0)
    else if (messages.length > 0) {
      assert.isAbove(count, 0)
      const kept = messages.slice(count)
      // Room remains for some turns unless the fixed part alone exceeds it.
      if (fixed + summary <= window * 0.3) assert.isAtMost(fixed + summary + sum(kept), window * 0.3)
      else assert.deepStrictEqual(kept, [])
      // The kept part begins with a user message if there is one.
      if (kept.some(({ role }) => role === "user")) assert.strictEqual(kept[0]?.role, "user")
    }
  }
)

it.prop("Compaction keeps the newest messages that fit", [history, FastCheck.nat(50_000)], ([messages, tokens]) => {
  const first = findNewestFitting(messages, tokens)
  assert.isAtMost(sum(messages.slice(first)), tokens)
  if (first > 0) assert.isAbove(sum(messages.slice(first - 1)), tokens)
})
