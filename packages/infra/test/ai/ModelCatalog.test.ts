import { ProviderName } from "@berth/domain/ai/models/Model"
import { resolveModel } from "@berth/domain/ai/models/ModelResolution"
import { assembleCatalog } from "@berth/infra/ai/catalog/CatalogAssembly"
import { toPricePerMillion, readOpenRouterEntry, readOpenRouterModel } from "@berth/infra/ai/catalog/OpenRouterModel"
import { findShippedModel, shippedModels } from "@berth/infra/ai/catalog/ModelSnapshot"
import { deriveModelTags } from "@berth/infra/ai/catalog/ModelTags"
import { sandboxModel } from "@berth/infra/ai/sandbox/SandboxModelProvider"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

const entry = (changes: Record<string, unknown> = {}) => ({
  id: "openai/gpt-4o",
  name: "OpenAI: GPT-4o",
  description: "A model.",
  context_length: 128000,
  pricing: { prompt: "0.0000025", completion: "0.00001", request: "0" },
  architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
  supported_parameters: ["max_tokens", "temperature"],
  ...changes
})

describe("prices per million tokens", () => {
  it("toPricePerMillion returns exact prices", () => {
    const examples = {
      "0.000005": 5,
      "0.00000015": 0.15,
      "0.000000019": 0.019,
      "0.00003": 30,
      "0.00000004815": 0.04815,
      "1e-6": 1,
      "0": 0,
      // Rounding noise of a vendor's list.
      "0.00000100000000000000015": 1
    }
    for (const [perToken, expected] of Object.entries(examples)) {
      assert.deepStrictEqual(toPricePerMillion(perToken), Option.some(expected))
    }
  })

  it("toPricePerMillion returns none without a price", () => {
    for (const nothing of ["-1", "", "free", "NaN"]) assert.deepStrictEqual(toPricePerMillion(nothing), Option.none())
  })

  it.prop("toPricePerMillion shifts a decimal by six places", [FastCheck.nat({ max: 10_000_000 })], ([billionths]) => {
    const perToken = `0.${String(billionths).padStart(12, "0")}`
    assert.deepStrictEqual(toPricePerMillion(perToken), Option.some(billionths / 1_000_000))
  })
})

describe("an entry of OpenRouter's list", () => {
  it("readOpenRouterModel reads an entry", () => {
    assert.deepStrictEqual(
      readOpenRouterModel(entry()),
      Option.some({
        id: "openai/gpt-4o",
        name: "GPT-4o",
        description: "A model.",
        inputCost: 2.5,
        outputCost: 10,
        contextWindow: 128000,
        takesTools: false,
        tags: ["general", "creative", "vision"]
      })
    )
  })

  it("readOpenRouterModel reads whether the model supports tools, if that is known", () => {
    const takes = (parameters: unknown) =>
      Option.map(readOpenRouterModel(entry({ supported_parameters: parameters })), ({ takesTools }) => takesTools)
    assert.deepStrictEqual(takes(["temperature", "tools"]), Option.some(true))
    assert.deepStrictEqual(takes([]), Option.some(false))
    assert.deepStrictEqual(takes(undefined), Option.some(undefined))
  })

  it("readOpenRouterModel reads the longest answer of a model, if there is one", () => {
    const limitOf = (limit: unknown) =>
      Option.map(
        readOpenRouterModel(entry({ top_provider: { max_completion_tokens: limit } })),
        ({ maxOutputTokens }) => maxOutputTokens
      )
    assert.deepStrictEqual(limitOf(16_384), Option.some(16_384))
    for (const none of [null, undefined, 0, "many"]) assert.deepStrictEqual(limitOf(none), Option.some(undefined))
  })

  it("readOpenRouterModel returns Anthropic's own ids", () => {
    const opus = readOpenRouterModel(entry({ id: "anthropic/claude-opus-4.6" }))
    assert.deepStrictEqual(
      Option.map(opus, ({ id }) => id),
      Option.some("anthropic/claude-opus-4-6")
    )
  })

  it("readOpenRouterModel returns none for models without chats or a fixed price", () => {
    const others = [
      entry({ pricing: { prompt: "-1", completion: "-1" } }),
      entry({ architecture: { input_modalities: ["text"], output_modalities: ["text", "image"] } }),
      entry({ architecture: { input_modalities: ["audio"], output_modalities: ["text"] } }),
      entry({ id: "~openai/gpt-latest" }),
      entry({ context_length: "many" }),
      entry({ pricing: undefined }),
      null,
      "gpt-4o"
    ]
    for (const other of others) assert.deepStrictEqual(readOpenRouterModel(other), Option.none())
  })

  it("readOpenRouterEntry distinguishes malformed entries from other models", () => {
    assert.deepStrictEqual(readOpenRouterEntry(entry({ pricing: { prompt: "-1", completion: "-1" } })), {
      type: "other"
    })
    assert.deepStrictEqual(readOpenRouterEntry(entry({ context_length: "many" })), {
      type: "malformed",
      id: "openai/gpt-4o"
    })
    assert.deepStrictEqual(readOpenRouterEntry("gpt-4o"), { type: "malformed", id: "without an id" })
    assert.deepStrictEqual(readOpenRouterEntry(entry({ pricing: null, id: "x".repeat(1_000) })), {
      type: "malformed",
      id: "x".repeat(100)
    })
  })

  it.prop("readOpenRouterModel accepts any value", [FastCheck.anything()], ([anything]) => {
    assert.isTrue(Option.isOption(readOpenRouterModel(anything)))
  })
})

describe("the shipped models", () => {
  it("The shipped models are at least sixty, unique, and have plausible prices", () => {
    assert.isAtLeast(shippedModels.length, 60)
    assert.strictEqual(new Set(shippedModels.map(({ id }) => id)).size, shippedModels.length)
    for (const model of shippedModels) {
      assert.isAbove(model.inputCost, 0, model.id)
      assert.isAtLeast(model.outputCost, model.inputCost, model.id)
      // Confused units (per token, per million tokens) would be far outside.
      assert.isAbove(model.inputCost, 0.01, model.id)
      assert.isBelow(model.outputCost, 700, model.id)
      assert.isAbove(model.description.length, 10, model.id)
    }
  })

  it("The shipped models contain the agents' models at their vendors' prices", () => {
    const prices = (id: string) =>
      Option.map(findShippedModel(id), ({ inputCost, outputCost }) => [inputCost, outputCost])
    assert.deepStrictEqual(prices("anthropic/claude-opus-4-6"), Option.some([5, 25]))
    assert.deepStrictEqual(prices("openai/gpt-4"), Option.some([30, 60]))
    assert.deepStrictEqual(prices("openai/gpt-4o-mini"), Option.some([0.15, 0.6]))
  })

  it("The shipped models contain some for every task", () => {
    for (const tag of ["general", "coding", "analysis", "creative", "fast", "vision"]) {
      assert.isAbove(shippedModels.filter(({ tags }) => tags.includes(tag)).length, 5, tag)
    }
  })
})

describe("tags", () => {
  const tags = (id: string, inputCost: number, changes: Partial<Parameters<typeof deriveModelTags>[0]> = {}) =>
    deriveModelTags({
      id,
      inputCost,
      outputCost: inputCost * 4,
      contextWindow: 200_000,
      seesImages: false,
      reasons: false,
      ...changes
    })

  const seesImages = { seesImages: true }
  const reasons = { reasons: true }
  const takesTools = { takesTools: true }

  it.each<readonly [id: string, price: number, changes: Parameters<typeof tags>[2], expected: string]>([
    ["anthropic/claude-opus-4-6", 5, reasons, "general coding analysis creative reasoning"],
    ["anthropic/claude-haiku-4-5", 1, { ...seesImages, ...takesTools }, "general coding fast vision tools"],
    ["openai/gpt-4o-mini", 0.15, {}, "general fast"],
    ["openai/gpt-4o", 2.5, { ...seesImages, ...takesTools }, "general analysis creative vision tools"],
    ["openai/gpt-5-codex", 1.25, reasons, "coding reasoning"],
    ["google/gemini-2.5-pro", 1.25, { ...seesImages, ...reasons }, "general coding analysis creative vision reasoning"],
    ["google/gemini-2.5-flash-lite", 0.1, seesImages, "general fast vision"],
    ["qwen/qwen3-coder", 0.3, {}, "coding"],
    ["qwen/qwen3-vl-30b", 0.3, seesImages, "vision"],
    ["meta-llama/llama-guard-4-12b", 0.1, {}, ""],
    ["meta-llama/llama-3.3-70b-instruct", 0.1, takesTools, "general creative tools"],
    ["mistralai/mistral-large-2512", 2, {}, "general analysis creative"],
    ["groq/openai/gpt-oss-120b", 0.15, reasons, "general analysis reasoning"],
    // Variants and unknown vendors can be requested, but are not all-rounders.
    ["google/gemma-4-31b-it:free", 0, seesImages, "vision free"],
    ["deepseek/deepseek-r1:free", 0, { ...reasons, ...takesTools }, "reasoning tools free"],
    ["acme/wonder", 1, seesImages, "vision"],
    ["acme/gift", 0, {}, "free"]
  ])("of %s at %d", (id, price, changes, expected) => {
    assert.strictEqual(tags(id, price, changes).join(" "), expected)
  })

  it.prop(
    "deriveModelTags depends on inputs and cost for any id",
    [FastCheck.string(), FastCheck.boolean(), FastCheck.boolean(), FastCheck.constantFrom(0, 0.2, 7)],
    ([id, images, tools, price]) => {
      const modelTags = tags(id, price, { seesImages: images, takesTools: tools })
      assert.strictEqual(modelTags.includes("vision"), images)
      assert.strictEqual(modelTags.includes("tools"), tools)
      assert.strictEqual(modelTags.includes("free"), price === 0)
      assert.strictEqual(new Set(modelTags).size, modelTags.length)
    }
  )
})

describe("the assembled catalog", () => {
  const assemble = (...names: ReadonlyArray<ProviderName>) =>
    assembleCatalog(
      {
        facts: shippedModels,
        own: new Map(names.includes("sandbox") ? [["sandbox", [sandboxModel]]] : []),
        vendors: new Map()
      },
      new Set(names)
    )

  it("assembleCatalog names the provider of each model, and marks none as available without a provider", () => {
    const providers = (...names: ReadonlyArray<ProviderName>) =>
      Object.fromEntries(
        assemble(...names)
          .filter(({ available }) => available)
          .map(({ id, provider }) => [id, provider])
      )
    assert.deepStrictEqual(providers(), {})
    assert.strictEqual(providers("openrouter", "openai")["openai/gpt-4"], "openrouter")
    assert.isUndefined(providers("openrouter")["groq/llama-3.1-8b-instant"])
    const openai = providers("openai")
    assert.strictEqual(openai["openai/gpt-4"], "openai")
    assert.isTrue(Object.keys(openai).every((id) => id.startsWith("openai/")))
    assert.isUndefined(openai["openai/gpt-oss-120b"])
    assertMatches(
      assemble().find(({ id }) => id === "anthropic/claude-opus-4-6"),
      { provider: "anthropic" }
    )
  })

  it("assembleCatalog uses a vendor's own list unless it names no known model", () => {
    const available = (listed: ReadonlyArray<string>, ...names: ReadonlyArray<ProviderName>) =>
      assembleCatalog(
        {
          facts: shippedModels,
          own: new Map(),
          vendors: new Map([["openai", listed]])
        },
        new Set(names)
      ).filter((model) => model.available)
    assert.deepStrictEqual(
      available(["openai/gpt-4o-mini"], "openai").map(({ id }) => id),
      ["openai/gpt-4o-mini"]
    )
    // A new model can have a price in one list only.
    assert.lengthOf(available(["openai/gpt-4o-mini", "openai/not-priced"], "openai"), 1)
    assert.isAbove(available(["openai/not-priced"], "openai").length, 1)
    assert.isAbove(available([], "openai").length, 1)
    const both = available(["openai/gpt-4o-mini"], "openrouter", "openai")
    assertMatches(
      both.find(({ id }) => id === "openai/gpt-4"),
      { provider: "openrouter" }
    )
  })

  it("assembleCatalog falls back to the sandbox when nothing else is configured", () => {
    const resolution = Either.getOrThrow(resolveModel(assemble("sandbox"), "claude-opus-4-6"))
    assertMatches(resolution, { isFallback: true, model: { id: "sandbox/echo", provider: "sandbox" } })
    const real = Either.getOrThrow(resolveModel(assemble("sandbox", "openai"), "claude-opus-4-6"))
    assert.strictEqual(real.model.provider, "openai")
  })

  it.prop(
    "assembleCatalog returns each model once, and Groq's models from its own list",
    [FastCheck.subarray([...ProviderName.literals])],
    ([names]) => {
      const facts = shippedModels
      const own = new Map([["groq" as const, []]])
      const models = assembleCatalog({ facts, own, vendors: new Map() }, new Set(names))
      assert.strictEqual(new Set(models.map(({ id }) => id)).size, models.length)
      assert.isFalse(models.some(({ id }) => id.startsWith("groq/")))
      for (const { available, provider } of models) if (available) assert.include(names, provider)
    }
  )
})
