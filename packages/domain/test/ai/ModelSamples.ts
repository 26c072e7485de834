import type { Model } from "@berth/domain/ai/models/Model"
import { ProviderName, TaskType } from "@berth/domain/ai/models/Model"
import { FastCheck } from "effect"

export const makeModel = (changes: Partial<Model> = {}): Model => ({
  id: "anthropic/claude-opus-4-6",
  name: "A model",
  provider: "openrouter",
  description: "For tests",
  tags: ["general"],
  inputCost: 1,
  outputCost: 2,
  contextWindow: 200_000,
  available: true,
  ...changes
})

export const providerNames = FastCheck.constantFrom(...ProviderName.literals)
export const taskTypes = FastCheck.constantFrom(...TaskType.literals)

const price = FastCheck.integer({ min: 0, max: 200_000 }).map((thousandths) => thousandths / 1000)

export const modelArbitrary: FastCheck.Arbitrary<Model> = FastCheck.record({
  vendor: FastCheck.constantFrom("anthropic", "openai", "google", "groq", "sandbox", "qwen", "meta-llama"),
  name: FastCheck.stringMatching(/^[a-z]{1,4}(-\d(\.\d)?)?(:free)?$/),
  provider: providerNames,
  tags: FastCheck.uniqueArray(FastCheck.oneof(taskTypes, FastCheck.constant("reasoning"))),
  inputCost: price,
  outputCost: price,
  contextWindow: FastCheck.integer({ min: 1, max: 2_000_000 }),
  available: FastCheck.boolean(),
  takesTools: FastCheck.constantFrom({}, { takesTools: true }, { takesTools: false }),
  maxOutput: FastCheck.constantFrom({}, { maxOutputTokens: 1 }, { maxOutputTokens: 64_000 })
}).map(({ maxOutput, name, takesTools, vendor, ...rest }) =>
  makeModel({ ...rest, ...takesTools, ...maxOutput, id: `${vendor}/${name}` })
)

export const modelsArbitrary = FastCheck.uniqueArray(modelArbitrary, { maxLength: 12, selector: (model) => model.id })
