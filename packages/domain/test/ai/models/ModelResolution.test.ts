import { findModel, resolveModel } from "@berth/domain/ai/models/ModelResolution"
import { selectModel } from "@berth/domain/ai/models/ModelSelection"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import { makeModel, modelsArbitrary } from "../ModelSamples.ts"

const opus = makeModel({ id: "anthropic/claude-opus-4-6" })
const gpt4 = makeModel({ id: "openai/gpt-4" })
const routed = makeModel({ id: "openrouter/auto" })
const sandbox = makeModel({ id: "sandbox/echo", provider: "sandbox" })
const catalog = [opus, gpt4, routed]

const found = (requested: string) => Option.map(findModel(catalog, requested), ({ id }) => id)

describe("findModel", () => {
  it("findModel finds an id with and without its vendor", () => {
    assert.deepStrictEqual(found("openai/gpt-4"), Option.some("openai/gpt-4"))
    assert.deepStrictEqual(found("gpt-4"), Option.some("openai/gpt-4"))
    assert.deepStrictEqual(found("claude-opus-4-6"), Option.some("anthropic/claude-opus-4-6"))
  })

  it("findModel finds an id with a dot, in another case, and behind a reseller's name", () => {
    assert.deepStrictEqual(found("anthropic/claude-opus-4.6"), Option.some("anthropic/claude-opus-4-6"))
    assert.deepStrictEqual(found("Claude-Opus-4.6"), Option.some("anthropic/claude-opus-4-6"))
    assert.deepStrictEqual(found("openrouter/openai/gpt-4"), Option.some("openai/gpt-4"))
    assert.deepStrictEqual(found("openrouter/auto"), Option.some("openrouter/auto"))
  })

  it("findModel does not find similar ids", () => {
    for (const requested of ["", "gpt", "gpt-4o", "google/gpt-4", "openai/"])
      assert.deepStrictEqual(found(requested), Option.none())
  })

  it.prop("findModel finds every model of a catalog by its own id", [modelsArbitrary], ([models]) => {
    for (const model of models) assert.deepStrictEqual(findModel(models, model.id), Option.some(model))
  })
})

describe("resolveModel", () => {
  it("resolveModel marks an answer of another model as a fallback", () => {
    assert.deepStrictEqual(Either.getOrThrow(resolveModel(catalog, "gpt-4")), {
      requested: "gpt-4",
      model: gpt4,
      isFallback: false
    })
    const away = [{ ...opus, available: false }, sandbox]
    assert.deepStrictEqual(Either.getOrThrow(resolveModel(away, "claude-opus-4-6")), {
      requested: "claude-opus-4-6",
      model: sandbox,
      isFallback: true
    })
  })

  it.prop(
    "resolveModel returns an available model, or none",
    [modelsArbitrary, FastCheck.string()],
    ([models, requested]) => {
      const resolution = resolveModel(models, requested)
      if (Either.isLeft(resolution)) {
        assert.isTrue(models.every((model) => !model.available))
        return
      }
      assert.isTrue(resolution.right.model.available)
      if (resolution.right.isFallback) {
        assert.deepStrictEqual(resolution.right.model, Either.getOrThrow(selectModel(models, "general")))
      }
    }
  )
})
