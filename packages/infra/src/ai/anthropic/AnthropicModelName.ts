import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

// Without a date a name is an alias, and the early ones have an alias of another form, or none.
const expandAlias = (name: string): string => {
  if (name === "claude-3-haiku") return "claude-3-haiku-20240307"
  if (/^claude-3(-\d)?-[a-z]+$/.test(name)) return `${name}-latest`
  return /^claude-(opus|sonnet)-4$/.test(name) ? `${name}-0` : name
}

/** A model's name as Anthropic wants it, of an id of the catalogue. */
export const toAnthropicModelName = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? expandAlias(parseModelName(modelId)) : modelId

/** The id in the catalogue of a name in Anthropic's list, which writes the date of a version behind it. */
export const fromAnthropicModelName = (name: string): string => `anthropic/${name.replace(/-(\d{8}|latest|0)$/, "")}`
