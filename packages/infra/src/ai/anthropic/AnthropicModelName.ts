import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

// A name without a date is an alias; early models have another form of alias, or none.
const expandAlias = (name: string): string => {
  if (name === "claude-3-haiku") return "claude-3-haiku-20240307"
  if (/^claude-3(-\d)?-[a-z]+$/.test(name)) return `${name}-latest`
  return /^claude-(opus|sonnet)-4$/.test(name) ? `${name}-0` : name
}

/** Anthropic's name of a model in the catalog. */
export const toAnthropicModelName = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? expandAlias(parseModelName(modelId)) : modelId

/** The catalog's id of a name in Anthropic's list, which can end in the date of a version. */
export const fromAnthropicModelName = (name: string): string => `anthropic/${name.replace(/-(\d{8}|latest|0)$/, "")}`
