import { parseModelName, parseModelVendor } from "@berth/domain/ai/models/ModelRoutes"
import { computeBlendedCost } from "@berth/domain/ai/models/ModelSelection"

interface TaggableModel {
  readonly id: string
  readonly contextWindow: number
  /** US dollars per million tokens. */
  readonly inputCost: number
  readonly outputCost: number
  readonly seesImages: boolean
  readonly reasons: boolean
  readonly takesTools?: boolean | undefined
}

// Only models of these vendors are selected automatically.
const knownVendors = ["anthropic", "openai", "google", "meta-llama", "mistralai", "deepseek", "qwen", "x-ai", "groq"]

// Variants such as `:free` are the same model with other limits.
const isVariant = (id: string) => id.includes(":")

const hasPart = (name: string, parts: RegExp) => parts.test(`-${name.replaceAll(/[/.:]/g, "-")}-`)

const isSpecial = (name: string) =>
  hasPart(name, /-(guard|safeguard|search|embed|embedding|audio|image|vl|customtools|multi-agent|deep-research)-/)
const isCoder = (name: string) => hasPart(name, /-(code|coder|codex|build|codestral\d*|devstral\d*)-/)
const isSmall = (name: string) =>
  hasPart(name, /-(mini|nano|flash|haiku|lite|instant|small|1?\db)-/) && !hasPart(name, /-(max|large|pro)-/)

const isAbleCoder = (name: string) =>
  isCoder(name) ||
  hasPart(name, /-(claude|gpt-4-1|gpt-[5-9]|o\d|deepseek|qwen3|qwen3-\d|grok|grok-\d|gemini-\d-\d-pro)-/)
const isGoodWriter = (name: string) =>
  hasPart(name, /-(claude|gpt-4o|gpt-4-1|gpt-[5-9]|gemini|mistral-(large|medium)|llama-(3|4)|deepseek)-/)

/**
 * Derives the task types of a model, and `reasoning`, `tools`, `free`. Variants and models of unknown vendors are never
 * `general`, so they rank last.
 */
export const deriveModelTags = (model: TaggableModel): ReadonlyArray<string> => {
  const name = parseModelName(model.id)
  const cost = computeBlendedCost(model)
  const isCommon = knownVendors.includes(parseModelVendor(model.id)) && !isVariant(model.id) && !isSpecial(name)
  const isAllRound = isCommon && !isCoder(name)
  const tags: ReadonlyArray<readonly [string, boolean]> = [
    ["general", isAllRound],
    ["coding", isCommon && isAbleCoder(name)],
    ["analysis", isAllRound && !isSmall(name) && (model.reasons || (model.contextWindow >= 200_000 && cost >= 1))],
    ["creative", isAllRound && !isSmall(name) && isGoodWriter(name)],
    ["fast", isAllRound && isSmall(name) && cost <= 2],
    ["vision", model.seesImages],
    ["reasoning", model.reasons],
    ["tools", model.takesTools === true],
    ["free", model.inputCost === 0 && model.outputCost === 0]
  ]
  return tags.filter(([, applies]) => applies).map(([tag]) => tag)
}
