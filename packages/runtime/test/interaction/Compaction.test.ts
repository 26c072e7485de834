import { findNewestFitting } from "@berth/domain/ai/prompt/PromptBudget"
import { countMessagesToSummarize } from "@berth/runtime/interaction/Compaction"
import { expect, it } from "@effect/vitest"
import { FastCheck } from "effect"

const history = FastCheck.array(
  FastCheck.record({
    role: FastCheck.constantFrom("user" as const, "assistant" as const),
    // An empty message has some too, for what stands around it.
    tokens: FastCheck.integer({ min: 1, max: 3_000 })
  }),
  { maxLength: 60 }
).map((all) => all.map((message, at) => ({ ...message, seq: at + 1 })))

const sum = (all: ReadonlyArray<{ readonly tokens: number }>) => all.reduce((total, { tokens }) => total + tokens, 0)

it.prop(
  "summarises exactly when a conversation fills more than 60 % of the window, and leaves room then",
  [history, FastCheck.integer({ min: 1_000, max: 100_000 }), FastCheck.nat(50_000)],
  ([said, window, fixed]) => {
    const summary = Math.floor(window / 20)
    const count = countMessagesToSummarize({ window, fixed, history: said, summary })
    expect(count).toBeGreaterThanOrEqual(0)
    expect(count).toBeLessThanOrEqual(said.length)
    if (fixed + sum(said) <= window * 0.6) expect(count).toBe(0)
    else if (said.length > 0) {
      expect(count).toBeGreaterThan(0)
      const kept = said.slice(count)
      // Either there is room for some turns, or what cannot be helped takes it.
      if (fixed + summary <= window * 0.3) expect(fixed + summary + sum(kept)).toBeLessThanOrEqual(window * 0.3)
      else expect(kept).toStrictEqual([])
      // What is kept begins with a question, where one is left.
      if (kept.some(({ role }) => role === "user")) expect(kept[0]?.role).toBe("user")
    }
  }
)

it.prop("keeps as many of the newest messages as fit", [history, FastCheck.nat(50_000)], ([said, tokens]) => {
  const first = findNewestFitting(said, tokens)
  expect(sum(said.slice(first))).toBeLessThanOrEqual(tokens)
  if (first > 0) expect(sum(said.slice(first - 1))).toBeGreaterThan(tokens)
})
