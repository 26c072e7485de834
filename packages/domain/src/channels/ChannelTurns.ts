import { Context, type Effect, Schema } from "effect"
import type { BackendUnavailable } from "../instances/InstanceErrors.ts"
import { ChatSessionId, MessageId } from "../interaction/Conversation.ts"
import { AgentId } from "../shared/AgentId.ts"
import { MessagingPlatform } from "../shared/Channel.ts"
import { UserId } from "../shared/UserId.ts"

/** A message of a chat to its agent. The id names the turn: the model is asked once per id. */
export const ChannelTurn = Schema.Struct({
  userId: UserId,
  agentId: AgentId,
  platform: MessagingPlatform,
  sessionId: ChatSessionId,
  messageId: MessageId,
  message: Schema.String
}).annotations({ identifier: "ChannelTurn" })
export type ChannelTurn = typeof ChannelTurn.Type

/**
 * `refused`: nothing was asked, since the owner has no units left or is suspended, or the agent is not running. `busy`: too
 * many messages wait; to be repeated.
 */
export const ChannelTurnOutcome = Schema.Union(
  Schema.Struct({ type: Schema.Literal("answered"), reply: Schema.String }),
  Schema.Struct({ type: Schema.Literal("failed"), reason: Schema.String }),
  Schema.Struct({ type: Schema.Literal("refused"), why: Schema.Literal("units", "agent", "owner") }),
  Schema.Struct({ type: Schema.Literal("busy") })
).annotations({ identifier: "ChannelTurnOutcome" })
export type ChannelTurnOutcome = typeof ChannelTurnOutcome.Type

/** Turns of chats, which run in the backend: they go on when the worker that waits for them dies. */
export class ChannelTurns extends Context.Tag("@berth/ChannelTurns")<
  ChannelTurns,
  {
    /** Waits for the end of the turn. Idempotent by the message's id. */
    readonly answer: (turn: ChannelTurn) => Effect.Effect<ChannelTurnOutcome, BackendUnavailable>
  }
>() {}
