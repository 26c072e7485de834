import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

// A name without a date is an alias; early models have other aliases or none.
const expandAlias = (name: string): string => {
  if (name === "claude-3-haiku") return "claude-3-haiku-20240307"
  if (/^claude-3(-\d)?-[a-z]+$/.test(name)) return `${name}-latest`
  return /^claude-(opus|sonnet)-4$/.test(name) ? `${name}-0` : name
}

export const toAnthropicModelName = (modelId: string): string =>
  modelId.startsWith("anthropic/") ? expandAlias(parseModelName(modelId)) : modelId

/** Returns the catalog id of a name in Anthropic's list, which can end in a version date. */
export const fromAnthropicModelName = (name: string): string => `anthropic/${name.replace(/-(\d{8}|latest|0)$/, "")}`
