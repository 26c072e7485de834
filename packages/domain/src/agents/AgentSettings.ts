import { Context } from "effect"

export class AgentSettings extends Context.Tag("@berth/AgentSettings")<
  AgentSettings,
  {
    /** Model ids that an agent may select besides `custom`, the default first (`AGENT_MODELS`). */
    readonly models: ReadonlyArray<string>
    /** Retired model ids and their successors (`LEGACY_MODELS`). */
    readonly legacyModels: ReadonlyMap<string, string>
  }
>() {}
