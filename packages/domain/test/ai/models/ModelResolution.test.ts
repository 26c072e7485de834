import { findModel, resolveModel } from "@berth/domain/ai/models/ModelResolution"
import { selectModel } from "@berth/domain/ai/models/ModelSelection"
import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import { makeModel, modelsArbitrary } from "../ModelSamples.ts"

const opus = makeModel({ id: "anthropic/claude-opus-4-6" })
const gpt4 = makeModel({ id: "openai/gpt-4" })
const routed = makeModel({ id: "openrouter/auto" })
const sandbox = makeModel({ id: "sandbox/echo", provider: "sandbox" })
const catalogue = [opus, gpt4, routed]

const found = (asked: string) => Option.map(findModel(catalogue, asked), ({ id }) => id)

describe("findModel", () => {
  it("finds an id as it is, and with its vendor put before it", () => {
    expect(found("openai/gpt-4")).toEqual(Option.some("openai/gpt-4"))
    expect(found("gpt-4")).toEqual(Option.some("openai/gpt-4"))
    expect(found("claude-opus-4-6")).toEqual(Option.some("anthropic/claude-opus-4-6"))
  })

  it("finds an id that another writes with a dot, in other letters, or behind the reseller's name", () => {
    expect(found("anthropic/claude-opus-4.6")).toEqual(Option.some("anthropic/claude-opus-4-6"))
    expect(found("Claude-Opus-4.6")).toEqual(Option.some("anthropic/claude-opus-4-6"))
    expect(found("openrouter/openai/gpt-4")).toEqual(Option.some("openai/gpt-4"))
    expect(found("openrouter/auto")).toEqual(Option.some("openrouter/auto"))
  })

  it("does not find what is only alike", () => {
    for (const asked of ["", "gpt", "gpt-4o", "google/gpt-4", "openai/"]) expect(found(asked)).toEqual(Option.none())
  })

  it.prop("finds every model of a catalogue by its own id", [modelsArbitrary], ([models]) => {
    for (const model of models) expect(findModel(models, model.id)).toEqual(Option.some(model))
  })
})

describe("resolveModel", () => {
  it("says when another model answers", () => {
    expect(Either.getOrThrow(resolveModel(catalogue, "gpt-4"))).toEqual({
      asked: "gpt-4",
      model: gpt4,
      isFallback: false
    })
    const away = [{ ...opus, available: false }, sandbox]
    expect(Either.getOrThrow(resolveModel(away, "claude-opus-4-6"))).toEqual({
      asked: "claude-opus-4-6",
      model: sandbox,
      isFallback: true
    })
  })

  it.prop("is total: an available model, or none is", [modelsArbitrary, FastCheck.string()], ([models, asked]) => {
    const resolution = resolveModel(models, asked)
    if (Either.isLeft(resolution)) {
      expect(models.every((model) => !model.available)).toBe(true)
      return
    }
    expect(resolution.right.model.available).toBe(true)
    if (resolution.right.isFallback) {
      expect(resolution.right.model).toEqual(Either.getOrThrow(selectModel(models, "general")))
    }
  })
})
