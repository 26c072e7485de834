import { Option } from "effect"
import type { Agent } from "./Agent.ts"

export interface ModelReplacement {
  readonly from: string
  readonly to: string
}

/** Returns the successor of an agent's retired model; none for a current model. */
export const findModelReplacement = (
  agent: Pick<Agent, "model" | "customModel">,
  legacy: ReadonlyMap<string, string>
): Option.Option<ModelReplacement> => {
  const from = agent.customModel ?? agent.model
  return Option.map(Option.fromNullable(legacy.get(from)), (to) => ({ from, to }))
}

/** Describes replacements to the owner; null without replacements. */
export const describeModelReplacements = (healings: ReadonlyArray<ModelReplacement>): string | null =>
  healings.length === 0
    ? null
    : healings.map(({ from, to }) => `The retired model ${from} was replaced by ${to}.`).join(" ")
