import { computeMediaCost } from "@berth/domain/ai/models/MediaPrices"
import {
  costOf,
  costUpperBound,
  defaultMaxTokens,
  estimateCost,
  findAnswerLimit,
  reasoningMaxTokens
} from "@berth/domain/ai/models/ModelCost"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import { modelArbitrary } from "../ModelSamples.ts"
import { assertMatches } from "../../../../../test/support/Matching.ts"

const cost = (inputCost: number, outputCost: number, inputTokens: number, outputTokens: number) =>
  Either.getOrThrow(estimateCost({ inputCost, outputCost }, { inputTokens, outputTokens }))

const count = FastCheck.nat({ max: 10_000_000 })
// Prices as vendors write them: up to a thousandth of a dollar per million tokens.
const price = FastCheck.integer({ min: 0, max: 600_000 }).map((thousandths) => thousandths / 1000)

describe("estimateCost", () => {
  it("estimateCost takes prices as US dollars per million tokens", () => {
    assert.strictEqual(cost(5, 25, 1_000_000, 0), 5)
    assert.strictEqual(cost(5, 25, 0, 1_000_000), 25)
    assert.strictEqual(cost(3, 15, 1000, 500), 0.0105)
    assert.strictEqual(cost(0.15, 0.6, 1, 1), 0.00000075)
    assert.strictEqual(cost(0.1, 0.1, 3, 0), 0.0000003)
  })

  it.prop(
    "estimateCost equals exact arithmetic in thousandths of a dollar",
    [price, price, count, count],
    ([a, b, input, output]) => {
      const exact = BigInt(Math.round(a * 1000)) * BigInt(input) + BigInt(Math.round(b * 1000)) * BigInt(output)
      assert.strictEqual(Math.round(cost(a, b, input, output) * 1e9), Number(exact))
    }
  )

  it.prop("estimateCost is zero without tokens, and never decreases", [price, price, count, count], ([a, b, x, y]) => {
    assert.strictEqual(cost(a, b, 0, 0), 0)
    assert.isAtLeast(cost(a, b, x + y, x), cost(a, b, x, 0))
  })

  it.prop(
    "estimateCost rejects a negative or unsafely large count and names it",
    [
      FastCheck.oneof(
        FastCheck.double({ max: -1e-9, noNaN: true }),
        FastCheck.constantFrom(Number.NaN, Infinity, Number.MAX_VALUE, 2 ** 53)
      ),
      count
    ],
    ([bad, good]) => {
      const prices = { inputCost: 1, outputCost: 1 }
      const input = estimateCost(prices, { inputTokens: bad, outputTokens: good })
      const output = estimateCost(prices, { inputTokens: good, outputTokens: bad })
      assertMatches(Either.flip(input).pipe(Either.getOrThrow), {
        _tag: "TokenCountInvalid",
        field: "inputTokens"
      })
      assertMatches(Either.flip(output).pipe(Either.getOrThrow), { field: "outputTokens" })
    }
  )
})

const usage = FastCheck.record({ promptTokens: count, completionTokens: count })
const prices = FastCheck.record({ inputCost: price, outputCost: price })

describe("costOf", () => {
  it("costOf returns micros of a US dollar, rounded up", () => {
    const model = { inputCost: 0.15, outputCost: 0.6 }
    assert.strictEqual(costOf(model, { promptTokens: 1_000_000, completionTokens: 0 }), 150_000)
    assert.strictEqual(costOf(model, { promptTokens: 1, completionTokens: 0 }), 1)
    assert.strictEqual(costOf({ inputCost: 0.1, outputCost: 0.2 }, { promptTokens: 10, completionTokens: 10 }), 3)
    assert.strictEqual(costOf({ inputCost: 0, outputCost: 0 }, { promptTokens: 10, completionTokens: 10 }), 0)
  })

  it.prop("costOf is the estimated cost to the next micro", [prices, usage], ([model, used]) => {
    const usd = cost(model.inputCost, model.outputCost, used.promptTokens, used.completionTokens)
    assert.isAtLeast(costOf(model, used) + 1e-3, usd * 1_000_000)
    assert.isBelow(costOf(model, used), usd * 1_000_000 + 1 + 1e-3)
  })
})

describe("costUpperBound", () => {
  it.prop(
    "costUpperBound is at least the cost of any usage within it",
    [prices, usage, count, count],
    ([model, used, more, longer]) => {
      const bound = costUpperBound(model, used.promptTokens + more, used.completionTokens + longer)
      assert.isAtLeast(bound, costOf(model, used))
    }
  )
})

describe("findAnswerLimit", () => {
  const plain = { tags: ["general"], contextWindow: 128_000 }
  const reasoning = { tags: ["general", "reasoning"], contextWindow: 128_000 }

  it("findAnswerLimit returns the caller's limit, else the default, at most a quarter of the context window", () => {
    assert.strictEqual(findAnswerLimit(plain, 9_000), 9_000)
    assert.strictEqual(findAnswerLimit(plain, undefined), defaultMaxTokens)
    assert.strictEqual(findAnswerLimit({ ...plain, contextWindow: 8_000 }, null), 2_000)
    assert.strictEqual(findAnswerLimit({ ...plain, contextWindow: 1 }, null), 1)
  })

  it("findAnswerLimit leaves a reasoning model room to think", () => {
    assert.strictEqual(findAnswerLimit(reasoning, undefined), reasoningMaxTokens)
    assert.strictEqual(findAnswerLimit(reasoning, 100), 100)
    assert.strictEqual(findAnswerLimit({ ...reasoning, contextWindow: 32_000 }, undefined), 8_000)
  })

  it("findAnswerLimit returns at most the longest answer of the model", () => {
    assert.strictEqual(findAnswerLimit({ ...plain, maxOutputTokens: 2_048 }, undefined), 2_048)
    assert.strictEqual(findAnswerLimit({ ...reasoning, maxOutputTokens: 8_192 }, undefined), 8_192)
    assert.strictEqual(findAnswerLimit({ ...plain, maxOutputTokens: 2_048 }, 100_000), 2_048)
  })

  it.prop(
    "findAnswerLimit is positive for every model",
    [modelArbitrary, FastCheck.option(FastCheck.integer({ min: 1 }), { nil: undefined })],
    ([model, requested]) => {
      assert.isAtLeast(findAnswerLimit(model, requested), 1)
    }
  )
})

describe("computeMediaCost", () => {
  it("computeMediaCost returns the cost of characters, minutes and tokens in US dollars, none without a price", () => {
    const of = (id: string, kind: "tts" | "stt" | "embedding", quantity: number) =>
      Option.getOrNull(computeMediaCost(id, kind, quantity))
    assert.strictEqual(of("openai/tts-1", "tts", 4_096), 0.06144)
    assert.strictEqual(of("openai/whisper-1", "stt", 2), 0.012)
    assert.approximately(of("groq/whisper-large-v3", "stt", 60) ?? 0, 0.111, 1e-12)
    assert.approximately(of("groq/whisper-large-v3-turbo", "stt", 60) ?? 0, 0.04, 1e-12)
    assert.strictEqual(of("openai/text-embedding-3-small", "embedding", 1_000), 0.00002)
    assert.isNull(of("openai/tts-1", "stt", 1))
    assert.isNull(of("openai/gpt-4o-mini-tts", "tts", 1))
    assert.isNull(of("acme/none", "tts", 1))
  })
})
