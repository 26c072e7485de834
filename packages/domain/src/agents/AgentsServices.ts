import { Layer } from "effect"
import { AgentConfigReset } from "./AgentConfigReset.ts"
import { AgentConfiguration } from "./AgentConfiguration.ts"
import * as AgentLimits from "./AgentLimits.ts"
import { Agents } from "./Agents.ts"

export const layer = Layer.merge(Agents.Default, AgentConfiguration.Default)

export const limits = AgentLimits.layer

export const agentJobs = Layer.merge(AgentConfigReset.Default, limits)
