import { findHomeProvider, listModelProviders } from "@berth/domain/ai/models/ModelRoutes"
import { planCalls } from "@berth/domain/ai/calls/CallPlan"
import type { ProviderName } from "@berth/domain/ai/models/Model"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { makeModel, modelsArbitrary, providerNames, taskTypes } from "../ModelSamples.ts"
import { assertMatches } from "../../../../../test/support/Matching.ts"

const names = (plan: ReturnType<typeof planCalls>) => [...plan].map(({ model, provider }) => `${model.id}@${provider}`)

describe("planCalls", () => {
  const gpt = makeModel({ id: "openai/gpt-4o", inputCost: 2 })
  const opus = makeModel({ id: "anthropic/claude", inputCost: 3 })
  const haiku = makeModel({ id: "anthropic/haiku", inputCost: 1 })
  const small = makeModel({ id: "google/small", contextWindow: 100, inputCost: 4 })
  const groq = makeModel({ id: "groq/llama", provider: "groq", inputCost: 0.1 })
  const sandbox = makeModel({ id: "sandbox/echo", provider: "sandbox" })
  const input = {
    models: [gpt, opus, haiku, small, groq, sandbox],
    configured: new Set<ProviderName>(["openrouter", "openai", "groq", "sandbox"]),
    taskType: "general" as const,
    tokens: 1_000,
    maxCalls: 10
  }

  it("planCalls orders a model's providers, then other providers, then other vendors", () => {
    assert.deepStrictEqual(names(planCalls({ ...input, first: gpt })), [
      "openai/gpt-4o@openrouter",
      "openai/gpt-4o@openai",
      "groq/llama@groq",
      "anthropic/claude@openrouter"
    ])
  })

  it("planCalls keeps a requested model that is too small, and omits other small models", () => {
    const plan = names(planCalls({ ...input, first: small, tokens: 1_000 }))
    assert.strictEqual(plan[0], "google/small@openrouter")
    assert.notInclude(names(planCalls({ ...input, first: opus, tokens: 1_000 })), "google/small@openrouter")
  })

  it("planCalls limits the number of calls", () => {
    assert.lengthOf([...planCalls({ ...input, first: gpt, maxCalls: 2 })], 2)
  })

  it("planCalls falls back to other models of the only vendor, one of which can be retired", () => {
    const next = makeModel({ id: "groq/next", provider: "groq", inputCost: 0.2 })
    const planInput = { ...input, models: [groq, next, sandbox], configured: new Set<ProviderName>(["groq"]) }
    assert.deepStrictEqual(names(planCalls({ ...planInput, first: groq })), ["groq/llama@groq", "groq/next@groq"])
  })

  it("planCalls falls back to models with tools when the request has tools", () => {
    const taker = makeModel({ id: "qwen/taker", inputCost: 1, takesTools: true })
    const not = makeModel({ id: "x-ai/not", inputCost: 4, takesTools: false })
    const planInput = { ...input, models: [gpt, not, opus, taker], configured: new Set<ProviderName>(["openrouter"]) }
    const order = (withTools: boolean, first = gpt) =>
      [...planCalls({ ...planInput, first, withTools })].map(({ model }) => model.id)
    assert.deepStrictEqual(order(false), [gpt.id, not.id, opus.id, taker.id])
    assert.deepStrictEqual(order(true), [gpt.id, taker.id, opus.id, not.id])
    // The requested model is called first.
    assert.strictEqual(order(true, not)[0], not.id)
  })

  const anyPlan = FastCheck.record({
    models: modelsArbitrary.filter((models) => models.length > 0),
    configured: FastCheck.uniqueArray(providerNames).map((list) => new Set(list)),
    taskType: taskTypes,
    tokens: FastCheck.nat({ max: 2_000_000 }),
    maxCalls: FastCheck.nat({ max: 6 }),
    withTools: FastCheck.boolean()
  })

  it.prop(
    "planCalls repeats no call, uses configured providers, and the sandbox only for its own model",
    [anyPlan],
    ([planInput]) => {
      const first = planInput.models[0]
      if (first === undefined) return
      const plan = [...planCalls({ ...planInput, first })]
      assert.strictEqual(new Set(names(plan)).size, plan.length)
      assert.isAtMost(plan.length, planInput.maxCalls)
      for (const { model, provider } of plan) {
        assert.include(planInput.configured, provider)
        if (model.id !== first.id) {
          assertMatches(model, { available: true })
          assert.notStrictEqual(model.provider, "sandbox")
          assert.isAtLeast(model.contextWindow, planInput.tokens)
        }
      }
    }
  )
})

describe("listModelProviders", () => {
  it("listModelProviders returns the providers of a model", () => {
    assert.deepStrictEqual(listModelProviders("openai/gpt-4"), ["openrouter", "openai"])
    assert.deepStrictEqual(listModelProviders("openai/gpt-oss-120b"), ["openrouter"])
    assert.deepStrictEqual(listModelProviders("google/gemma-4-31b-it:free"), ["openrouter"])
    assert.deepStrictEqual(listModelProviders("google/gemma-3-27b-it"), ["openrouter"])
    assert.deepStrictEqual(listModelProviders("google/gemini-2.5-pro"), ["openrouter", "google"])
    assert.deepStrictEqual(listModelProviders("anthropic/claude-opus-4-6"), ["openrouter", "anthropic"])
    assert.deepStrictEqual(listModelProviders("anthropic/claude-opus-4-6-fast"), ["openrouter"])
    assert.deepStrictEqual(listModelProviders("qwen/qwen3-max"), ["openrouter"])
    assert.deepStrictEqual(listModelProviders("groq/openai/gpt-oss-120b"), ["groq"])
    assert.strictEqual(findHomeProvider("anthropic/claude-opus-4-6"), "anthropic")
    assert.strictEqual(findHomeProvider("qwen/qwen3-max"), "openrouter")
  })
})
