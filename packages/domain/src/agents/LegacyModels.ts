import { Context, Option } from "effect"
import type { Agent } from "./Agent.ts"

/** Retired model ids and what takes their place (`LEGACY_MODELS`). */
export class LegacyModels extends Context.Tag("@berth/LegacyModels")<LegacyModels, ReadonlyMap<string, string>>() {}

export interface ModelReplacement {
  readonly from: string
  readonly to: string
}

/** What heals an agent whose model is retired; none for a model that is not. */
export const findModelReplacement = (
  agent: Pick<Agent, "model" | "customModel">,
  legacy: ReadonlyMap<string, string>
): Option.Option<ModelReplacement> => {
  const from = agent.customModel ?? agent.model
  return Option.map(Option.fromNullable(legacy.get(from)), (to) => ({ from, to }))
}

/** What was healed, for its owner; null when nothing was. */
export const describeModelReplacements = (healings: ReadonlyArray<ModelReplacement>): string | null =>
  healings.length === 0
    ? null
    : healings.map(({ from, to }) => `The retired model ${from} was replaced by ${to}.`).join(" ")
