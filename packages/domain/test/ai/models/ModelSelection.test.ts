import { rankModels, selectModel, parseTaskType } from "@berth/domain/ai/models/ModelSelection"
import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { makeModel, modelsArbitrary, taskTypes } from "../ModelSamples.ts"

const selected = (...args: Parameters<typeof selectModel>) => Either.getOrThrow(selectModel(...args)).id

describe("taskTypeOf", () => {
  it("takes what is unknown or missing as general", () => {
    expect(parseTaskType("coding")).toBe("coding")
    expect(parseTaskType("poetry")).toBe("general")
    expect(parseTaskType(undefined)).toBe("general")
    expect(parseTaskType(null)).toBe("general")
  })
})

describe("selectModel", () => {
  it.prop(
    "selects an available model, or says that there is none",
    [modelsArbitrary, taskTypes],
    ([models, taskType]) => {
      const selection = selectModel(models, taskType)
      const available = models.filter((model) => model.available)
      expect(Either.isRight(selection)).toBe(available.length > 0)
      if (Either.isRight(selection)) expect(available).toContain(selection.right)
      else expect(selection.left.taskType).toBe(taskType)
    }
  )

  it.prop(
    "selects a model tagged for the task where a real one is available",
    [modelsArbitrary, taskTypes],
    ([models, task]) => {
      const tagged = models.filter((m) => m.available && m.provider !== "sandbox" && m.tags.includes(task))
      if (tagged.length > 0) expect(tagged.map(({ id }) => id)).toContain(selected(models, task))
    }
  )

  it.prop(
    "does not depend on the order of the catalogue",
    [
      modelsArbitrary.chain((models) =>
        FastCheck.tuple(FastCheck.constant(models), FastCheck.shuffledSubarray(models, { minLength: models.length }))
      ),
      taskTypes
    ],
    ([[models, shuffled], taskType]) => {
      expect(rankModels(shuffled, taskType)).toEqual(rankModels(models, taskType))
    }
  )

  it.prop(
    "takes the sandbox only where nothing else is available",
    [modelsArbitrary, taskTypes],
    ([models, taskType]) => {
      const real = models.filter((model) => model.available && model.provider !== "sandbox")
      if (real.length > 0) expect(real.map(({ id }) => id)).toContain(selected(models, taskType))
    }
  )

  it("prefers the able to the cheap within the budget, and the cheap for quick work", () => {
    const small = makeModel({ id: "openai/mini", tags: ["general", "fast"], inputCost: 0.1, outputCost: 0.4 })
    const middle = makeModel({ id: "anthropic/sonnet", inputCost: 3, outputCost: 15 })
    const giant = makeModel({ id: "openai/giant", inputCost: 150, outputCost: 600 })
    expect(selected([small, middle, giant], "general")).toBe("anthropic/sonnet")
    expect(selected([small, middle, giant], "fast")).toBe("openai/mini")
    expect(selected([giant], "general")).toBe("openai/giant")
  })

  it("selects with tools a real model that takes them, and another where there is none", () => {
    const best = makeModel({ id: "openai/best", inputCost: 4, takesTools: false })
    const taker = makeModel({ id: "openai/taker", inputCost: 1 })
    const sandbox = makeModel({ id: "sandbox/echo", provider: "sandbox", takesTools: true })
    expect(selected([best, taker, sandbox], "general")).toBe("openai/best")
    expect(selected([best, taker, sandbox], "general", true)).toBe("openai/taker")
    expect(selected([best, sandbox], "general", true)).toBe("openai/best")
    expect(selected([sandbox], "general", true)).toBe("sandbox/echo")
  })

  it("prefers room to price, and of a family the later", () => {
    const narrow = makeModel({ id: "a/narrow", contextWindow: 8_191, inputCost: 3, outputCost: 9 })
    const wide = makeModel({ id: "a/wide", contextWindow: 400_000 })
    expect(selected([narrow, wide], "general")).toBe("a/wide")
    expect(selected([makeModel({ id: "a/m-4-5" }), makeModel({ id: "a/m-4-6" })], "general")).toBe("a/m-4-6")
  })
})
