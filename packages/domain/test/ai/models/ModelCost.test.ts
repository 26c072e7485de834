import { estimateCost } from "@berth/domain/ai/models/ModelCost"
import { estimatePromptTokens, estimateTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const cost = (inputCost: number, outputCost: number, inputTokens: number, outputTokens: number) =>
  Either.getOrThrow(estimateCost({ inputCost, outputCost }, { inputTokens, outputTokens }))

const count = FastCheck.nat({ max: 10_000_000 })
// Prices as vendors write them: up to a thousandth of a dollar per million tokens.
const price = FastCheck.integer({ min: 0, max: 600_000 }).map((thousandths) => thousandths / 1000)

describe("estimateCost", () => {
  it("takes prices as US dollars per million tokens", () => {
    expect(cost(5, 25, 1_000_000, 0)).toBe(5)
    expect(cost(5, 25, 0, 1_000_000)).toBe(25)
    expect(cost(3, 15, 1000, 500)).toBe(0.0105)
    expect(cost(0.15, 0.6, 1, 1)).toBe(0.00000075)
    expect(cost(0.1, 0.1, 3, 0)).toBe(0.0000003)
  })

  it.prop(
    "equals exact arithmetic in thousandths of a dollar",
    [price, price, count, count],
    ([a, b, input, output]) => {
      const exact = BigInt(Math.round(a * 1000)) * BigInt(input) + BigInt(Math.round(b * 1000)) * BigInt(output)
      expect(Math.round(cost(a, b, input, output) * 1e9)).toBe(Number(exact))
    }
  )

  it.prop("is free without tokens, and more of them never cost less", [price, price, count, count], ([a, b, x, y]) => {
    expect(cost(a, b, 0, 0)).toBe(0)
    expect(cost(a, b, x + y, x)).toBeGreaterThanOrEqual(cost(a, b, x, 0))
  })

  it.prop(
    "refuses a negative or endless count and names it",
    [
      FastCheck.oneof(FastCheck.double({ max: -1e-9, noNaN: true }), FastCheck.constantFrom(Number.NaN, Infinity)),
      count
    ],
    ([bad, good]) => {
      const prices = { inputCost: 1, outputCost: 1 }
      const input = estimateCost(prices, { inputTokens: bad, outputTokens: good })
      const output = estimateCost(prices, { inputTokens: good, outputTokens: bad })
      expect(Either.flip(input).pipe(Either.getOrThrow)).toMatchObject({
        _tag: "TokenCountInvalid",
        field: "inputTokens"
      })
      expect(Either.flip(output).pipe(Either.getOrThrow)).toMatchObject({ field: "outputTokens" })
    }
  )
})

describe("estimateTokens", () => {
  it("counts a token for four bytes, rounded up", () => {
    expect(estimateTokens("")).toBe(0)
    expect(estimateTokens("a")).toBe(1)
    expect(estimateTokens("abcd")).toBe(1)
    expect(estimateTokens("abcde")).toBe(2)
    expect(estimateTokens("日本語")).toBe(3)
  })

  it.prop("of a prompt is at least that of its texts", [FastCheck.array(FastCheck.string())], ([texts]) => {
    const messages = texts.map((content) => ({ role: "user" as const, content }))
    expect(estimatePromptTokens(messages)).toBeGreaterThanOrEqual(estimateTokens(texts.join("")))
  })
})
