import { rankModels, selectModel, parseTaskType } from "@berth/domain/ai/models/ModelSelection"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { makeModel, modelsArbitrary, taskTypes } from "../ModelSamples.ts"

const selected = (...args: Parameters<typeof selectModel>) => Either.getOrThrow(selectModel(...args)).id

describe("parseTaskType", () => {
  it("parseTaskType returns general for an unknown or missing type", () => {
    assert.strictEqual(parseTaskType("coding"), "coding")
    assert.strictEqual(parseTaskType("poetry"), "general")
    assert.strictEqual(parseTaskType(undefined), "general")
    assert.strictEqual(parseTaskType(null), "general")
  })
})

describe("selectModel", () => {
  it.prop("selectModel returns an available model, or none", [modelsArbitrary, taskTypes], ([models, taskType]) => {
    const selection = selectModel(models, taskType)
    const available = models.filter((model) => model.available)
    assert.strictEqual(Either.isRight(selection), available.length > 0)
    if (Either.isRight(selection)) assert.include(available, selection.right)
    else assert.strictEqual(selection.left.taskType, taskType)
  })

  it.prop(
    "selectModel prefers a real model with the tag of the task",
    [modelsArbitrary, taskTypes],
    ([models, task]) => {
      const tagged = models.filter((m) => m.available && m.provider !== "sandbox" && m.tags.includes(task))
      if (tagged.length > 0)
        assert.include(
          tagged.map(({ id }) => id),
          selected(models, task)
        )
    }
  )

  it.prop(
    "selectModel does not depend on the order of the catalog",
    [
      modelsArbitrary.chain((models) =>
        FastCheck.tuple(FastCheck.constant(models), FastCheck.shuffledSubarray(models, { minLength: models.length }))
      ),
      taskTypes
    ],
    ([[models, shuffled], taskType]) => {
      assert.deepStrictEqual(rankModels(shuffled, taskType), rankModels(models, taskType))
    }
  )

  it.prop(
    "selectModel returns the sandbox only when nothing else is available",
    [modelsArbitrary, taskTypes],
    ([models, taskType]) => {
      const real = models.filter((model) => model.available && model.provider !== "sandbox")
      if (real.length > 0)
        assert.include(
          real.map(({ id }) => id),
          selected(models, taskType)
        )
    }
  )

  it("selectModel prefers capable models within the budget, and cheap ones for fast tasks", () => {
    const small = makeModel({ id: "openai/mini", tags: ["general", "fast"], inputCost: 0.1, outputCost: 0.4 })
    const middle = makeModel({ id: "anthropic/sonnet", inputCost: 3, outputCost: 15 })
    const giant = makeModel({ id: "openai/giant", inputCost: 150, outputCost: 600 })
    assert.strictEqual(selected([small, middle, giant], "general"), "anthropic/sonnet")
    assert.strictEqual(selected([small, middle, giant], "fast"), "openai/mini")
    assert.strictEqual(selected([giant], "general"), "openai/giant")
  })

  it("selectModel prefers a real model with tools for requests with tools", () => {
    const best = makeModel({ id: "openai/best", inputCost: 4, takesTools: false })
    const taker = makeModel({ id: "openai/taker", inputCost: 1 })
    const sandbox = makeModel({ id: "sandbox/echo", provider: "sandbox", takesTools: true })
    assert.strictEqual(selected([best, taker, sandbox], "general"), "openai/best")
    assert.strictEqual(selected([best, taker, sandbox], "general", true), "openai/taker")
    assert.strictEqual(selected([best, sandbox], "general", true), "openai/best")
    assert.strictEqual(selected([sandbox], "general", true), "sandbox/echo")
  })

  it("selectModel prefers a large window to a low price, and later versions of a family", () => {
    const narrow = makeModel({ id: "a/narrow", contextWindow: 8_191, inputCost: 3, outputCost: 9 })
    const wide = makeModel({ id: "a/wide", contextWindow: 400_000 })
    assert.strictEqual(selected([narrow, wide], "general"), "a/wide")
    assert.strictEqual(selected([makeModel({ id: "a/m-4-5" }), makeModel({ id: "a/m-4-6" })], "general"), "a/m-4-6")
  })
})
