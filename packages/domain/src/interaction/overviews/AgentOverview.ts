import { Schema } from "effect"
import { AgentStatus } from "../../agents/AgentStatus.ts"
import { AgentId } from "../../shared/AgentId.ts"
import { Sender } from "../Conversation.ts"

/** State of an agent for lists: status, newest message, today's usage. */
export const AgentOverview = Schema.Struct({
  agentId: AgentId,
  status: AgentStatus,
  /** Model of the newest reply with a known model. */
  model: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  /** The newest message. */
  lastMessage: Schema.NullOr(
    Schema.Struct({ sender: Sender, text: Schema.String, createdAt: Schema.DateTimeUtcFromSelf })
  ),
  /** Units of the UTC day's answers. */
  unitsToday: Schema.Int.pipe(Schema.brand("Units"))
})
export type AgentOverview = typeof AgentOverview.Type

/** Changed and removed agents since the previous change. The first change contains all agents. */
export interface AgentOverviewChange {
  readonly agents: ReadonlyArray<AgentOverview>
  readonly removed: ReadonlyArray<AgentId>
}

/** Maximum characters of a last message. */
export const overviewTextLength = 240
