import { Context } from "effect"

/** The model ids an agent may name beside `custom`, the first one the default (`AGENT_MODELS`). */
export class AgentModels extends Context.Tag("@berth/AgentModels")<AgentModels, ReadonlyArray<string>>() {}
