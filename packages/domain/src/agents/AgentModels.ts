import { Context } from "effect"

/** The model ids an agent may name beside `custom`, the first one the default (`AGENT_MODELS`). */
export class AllowedAgentModels extends Context.Tag("@berth/AllowedAgentModels")<
  AllowedAgentModels,
  ReadonlyArray<string>
>() {}
