import { resolveAgentModel } from "@berth/domain/agents/AgentModel"
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"

const allowed = ["claude-opus-4-6", "gpt-4"]
const tagOf = (choice: ReturnType<typeof resolveAgentModel>) =>
  Either.match(choice, { onLeft: ({ _tag }) => _tag, onRight: ({ model }) => model })

describe("resolveAgentModel", () => {
  it("resolveAgentModel returns the first allowed model by default", () =>
    assert.strictEqual(tagOf(resolveAgentModel(allowed, {})), "claude-opus-4-6"))
  it("resolveAgentModel returns an allowed model", () =>
    assert.strictEqual(tagOf(resolveAgentModel(allowed, { model: "gpt-4" })), "gpt-4"))
  it("resolveAgentModel keeps the id of a custom model", () =>
    assert.deepStrictEqual(
      resolveAgentModel(allowed, { model: "custom", customModel: " openai/gpt-4o " }),
      Either.right({ model: "custom", customModel: "openai/gpt-4o" })
    ))
  it("resolveAgentModel rejects custom without a provider/model id", () => {
    assert.strictEqual(tagOf(resolveAgentModel(allowed, { model: "custom" })), "CustomModelMissing")
    assert.strictEqual(tagOf(resolveAgentModel(allowed, { model: "custom", customModel: "gpt" })), "CustomModelMissing")
  })
  it.each(["/", "openai/", "/gpt-4o", "openai//gpt-4o", "openai/gpt 4o", "openai/gpt-4o\n/x"])(
    "resolveAgentModel rejects the ill-formed custom model %j",
    (customModel) =>
      assert.strictEqual(tagOf(resolveAgentModel(allowed, { model: "custom", customModel })), "CustomModelMissing")
  )
  it.each(["meta-llama/llama-3:free", "accounts/vendor/models/a-1.5"])(
    "resolveAgentModel accepts the custom model %s",
    (customModel) =>
      assert.deepStrictEqual(
        resolveAgentModel(allowed, { model: "custom", customModel }),
        Either.right({ model: "custom", customModel })
      )
  )
  it.prop("resolveAgentModel rejects every other model", [Schema.String], ([model]) =>
    [...allowed, "custom"].includes(model) ? true : tagOf(resolveAgentModel(allowed, { model })) === "ModelNotAllowed"
  )
})
