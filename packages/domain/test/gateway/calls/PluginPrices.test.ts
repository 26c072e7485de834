import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { estimatePromptTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import {
  computePrice,
  convertPriceToUnits,
  countPriceShares,
  estimateExpectedTokens,
  limitInput,
  tokensPerPrice
} from "@berth/domain/gateway/calls/PluginPrices"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { Units } from "@berth/domain/shared/Money"

const userMessage = (content: string): ChatMessage => ({ role: "user", content })
const texts = FastCheck.array(FastCheck.string({ maxLength: 40_000 }), { minLength: 1, maxLength: 3 })
const limits = FastCheck.option(FastCheck.integer({ min: 1, max: 200_000 }), { nil: undefined })
const requests = FastCheck.tuple(texts, limits).map(([contents, maxTokens]) => ({
  messages: contents.map(userMessage),
  options: { maxTokens }
}))
const terms = { priceMargin: 1.3, prices: { agent: 0.05, "generate-text": 0.01, tts: 0.03, stt: 0.02 } }

describe("PluginPrices", () => {
  it("convertPriceToUnits rounds up to whole units, at least one", () => {
    const prices = [0.05, 0.01, 0.03, 0.02, 0.07, 0.29, 1, 0.001, 0.000001, 0.011]
    assert.deepStrictEqual(prices.map(convertPriceToUnits), [5, 1, 3, 2, 7, 29, 100, 1, 1, 2])
  })

  it("countPriceShares counts every started 4,000 tokens", () => {
    assert.deepStrictEqual([0, 1, 4_000, 4_001, 8_000, 8_001].map(countPriceShares), [1, 1, 1, 2, 2, 3])
  })

  for (const [plugin, tokens, costUsd, units] of [
    ["generate-text", 8_001, 0, 3],
    ["generate-text", 8_001, 0.03, 4],
    ["generate-text", 10, 0.1, 13],
    ["generate-text", 10, 0.1000001, 14],
    ["tts", null, null, 3],
    ["tts", null, 0.0231, 4],
    ["stt", null, 0.36, 47],
    ["agent", null, null, 5]
  ] as const)
    it(`computePrice is ${units} units for ${plugin} with ${tokens} tokens and a cost of ${costUsd} USD`, () =>
      assert.strictEqual(computePrice(terms, plugin, { tokens, costUsd }), Units(units)))

  it("estimateExpectedTokens counts the response format", () => {
    const described = { type: "object", description: "word ".repeat(40_000) }
    const responseFormat = { type: "json-schema", name: "answer", schema: described } as const
    const plain = { messages: [userMessage("Hi")], options: { maxTokens: 100 } }
    const formatted = { messages: [userMessage("Hi")], options: { maxTokens: 100, responseFormat } }
    assert.strictEqual(countPriceShares(estimateExpectedTokens(plain)), 1)
    assert.isAbove(countPriceShares(estimateExpectedTokens(formatted)), 9)
  })

  it.prop("limitInput bounds the answer to the tokens that the flat price covers", [requests], ([request]) => {
    const limited = limitInput({ plugin: "generate-text", request })
    const longest =
      limited.plugin === "generate-text" ? (limited.request.options?.maxTokens ?? Number.POSITIVE_INFINITY) : 0
    const covered = countPriceShares(estimateExpectedTokens(request)) * tokensPerPrice
    return (
      covered >= estimateExpectedTokens(request) &&
      estimatePromptTokens(request.messages) + longest <= covered &&
      longest >= 1 &&
      (request.options.maxTokens === undefined || longest === request.options.maxTokens)
    )
  })
})
