import { Layer } from "effect"
import { AgentConfigReset } from "./AgentConfigReset.ts"
import { AgentConfiguration } from "./AgentConfiguration.ts"
import * as AgentLimits from "./AgentLimits.ts"
import { Agents } from "./Agents.ts"
import { SkillUploads } from "./SkillUploads.ts"

export const layer = Layer.mergeAll(Agents.Default, AgentConfiguration.Default, SkillUploads.Default)

export const limits = AgentLimits.layer

export const agentJobs = Layer.merge(AgentConfigReset.Default, limits)
