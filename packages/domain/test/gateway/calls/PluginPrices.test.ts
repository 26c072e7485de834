import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { estimatePromptTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import { convertUsdToTokenUnits } from "@berth/domain/gateway/payments/PaidRequest"
import {
  estimateExpectedTokens,
  countPriceShares,
  countInputShares,
  tokensPerPrice,
  convertPriceToUnits,
  limitToPrice
} from "@berth/domain/gateway/calls/PluginPrices"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const said = (content: string): ChatMessage => ({ role: "user", content })
const texts = FastCheck.array(FastCheck.string({ maxLength: 40_000 }), { minLength: 1, maxLength: 3 })
const limits = FastCheck.option(FastCheck.integer({ min: 1, max: 200_000 }), { nil: undefined })
const request = FastCheck.tuple(texts, limits).map(([contents, maxTokens]) => ({
  messages: contents.map(said),
  options: { maxTokens }
}))

describe("What a call costs", () => {
  it("is the price in whole units, at least one", () => {
    const prices = [0.05, 0.01, 0.03, 0.02, 0.07, 0.29, 1, 0.001, 0.000001, 0.011]
    assert.deepStrictEqual(prices.map(convertPriceToUnits), [5, 1, 3, 2, 7, 29, 100, 1, 1, 2])
  })

  it("is due for every started 4,000 tokens", () => {
    assert.deepStrictEqual([0, 1, 4_000, 4_001, 8_000, 8_001].map(countPriceShares), [1, 1, 1, 2, 2, 3])
    assert.strictEqual(convertUsdToTokenUnits(0.01 * countPriceShares(8_001)), 30_000n)
  })

  it("is once the price of a plugin that does not write", () => {
    assert.strictEqual(countInputShares({ plugin: "tts", spoken: { text: "x".repeat(4_000) } }), 1)
    assert.strictEqual(
      countInputShares({ plugin: "agent", messages: [said("x".repeat(100_000))], agentId: undefined }),
      1
    )
  })

  it("counts the form that is asked for with what is said: a model reads it too", () => {
    const described = { type: "object", description: "word ".repeat(40_000) }
    const responseFormat = { type: "json-schema", name: "answer", schema: described } as const
    const plain = { messages: [said("Hi")], options: { maxTokens: 100 } }
    const formed = { messages: [said("Hi")], options: { maxTokens: 100, responseFormat } }
    assert.strictEqual(countInputShares({ plugin: "generate-text", request: plain }), 1)
    assert.isAbove(countInputShares({ plugin: "generate-text", request: formed }), 9)
  })

  it.prop("covers the prompt and the longest answer that is allowed", [request], ([asked]) => {
    const paidFor = countInputShares({ plugin: "generate-text", request: asked }) * tokensPerPrice
    const longest = limitToPrice(asked).options?.maxTokens ?? Number.POSITIVE_INFINITY
    return (
      paidFor >= estimateExpectedTokens(asked) &&
      estimatePromptTokens(asked.messages) + longest <= paidFor &&
      longest >= 1 &&
      (asked.options.maxTokens === undefined || longest === asked.options.maxTokens)
    )
  })
})
