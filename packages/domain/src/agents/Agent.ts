import { Schema } from "effect"
import { Channel } from "../shared/Channel.ts"
import { AgentStatus } from "./AgentStatus.ts"
import { AgentId } from "../shared/AgentId.ts"
import { UserId } from "../shared/UserId.ts"

export const AgentConfig = Schema.Struct({
  channels: Schema.Array(Channel),
  skills: Schema.Array(Schema.String),
  systemPrompt: Schema.NullOr(Schema.String),
  temperature: Schema.NullOr(Schema.Number),
  maxTokens: Schema.NullOr(Schema.Int),
  timezone: Schema.String,
  /** Cron expression, or null for none. */
  heartbeat: Schema.NullOr(Schema.String)
}).annotations({ identifier: "AgentConfig" })
export type AgentConfig = typeof AgentConfig.Type

export const defaultAgentConfig: AgentConfig = {
  channels: ["web"],
  skills: [],
  systemPrompt: null,
  temperature: null,
  maxTokens: null,
  timezone: "UTC",
  heartbeat: null
}

export class Agent extends Schema.Class<Agent>("Agent")({
  id: AgentId,
  ownerId: UserId,
  name: Schema.String,
  model: Schema.String,
  /** Catalog id for the model `custom`. */
  customModel: Schema.NullOr(Schema.String),
  status: AgentStatus,
  config: AgentConfig,
  createdAt: Schema.DateTimeUtcFromSelf,
  updatedAt: Schema.DateTimeUtcFromSelf
}) {}
