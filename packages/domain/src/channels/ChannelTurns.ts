import { Context, type Effect, Schema } from "effect"
import { ToolInvocation } from "../instances/AgentRuntime.ts"
import type { BackendUnavailable } from "../instances/InstanceErrors.ts"
import { ChatSessionId, MessageId } from "../interaction/Conversation.ts"
import { AgentId } from "../shared/AgentId.ts"
import { MessageOrigin, MessagingPlatform } from "../shared/Channel.ts"
import { Units } from "../shared/Money.ts"
import { InboundContent, InboundId } from "./ChannelMessage.ts"
import { UserId } from "../shared/UserId.ts"

/** A message with recordings. */
export const SpokenContent = Schema.Struct({ id: InboundId, platform: MessagingPlatform, content: InboundContent })
export type SpokenContent = typeof SpokenContent.Type

/**
 * A message of a chat or a run to its agent. The id names the turn: the model is called once per id. `repeats`: an
 * unbegun turn of the message. `spoken`: replaces `message` by its transcript.
 */
export const ChannelTurn = Schema.Struct({
  userId: UserId,
  agentId: AgentId,
  platform: MessageOrigin,
  sessionId: ChatSessionId,
  messageId: MessageId,
  repeats: Schema.optional(MessageId),
  /** Whether the owner of the agent wrote the message. */
  fromOwner: Schema.optional(Schema.Boolean),
  message: Schema.String,
  spoken: Schema.optional(SpokenContent),
  invocation: Schema.optional(ToolInvocation),
  unitLimit: Schema.optional(Schema.Int.pipe(Schema.fromBrand(Units)))
}).annotations({ identifier: "ChannelTurn" })
export type ChannelTurn = typeof ChannelTurn.Type

/**
 * `failed`: the model may have been called. `unbegun`: the model was not called; repeat under another id. `refused`: do
 * not repeat, since the owner has no units left or is suspended, the agent is not running, or no provider transcribes
 * the recording. `busy`: repeat under the same id.
 */
export const ChannelTurnOutcome = Schema.Union(
  Schema.Struct({ type: Schema.Literal("answered"), reply: Schema.String }),
  Schema.Struct({ type: Schema.Literal("failed", "unbegun", "busy"), reason: Schema.String }),
  Schema.Struct({ type: Schema.Literal("refused"), why: Schema.Literal("units", "budget", "agent", "owner", "speech") })
).annotations({ identifier: "ChannelTurnOutcome" })
export type ChannelTurnOutcome = typeof ChannelTurnOutcome.Type

/** Turns of chats, which run in the backend: they continue when the waiting worker dies. */
export class ChannelTurns extends Context.Tag("@berth/ChannelTurns")<
  ChannelTurns,
  {
    /** Waits for the end of the turn. Idempotent by the message's id. */
    readonly answer: (turn: ChannelTurn) => Effect.Effect<ChannelTurnOutcome, BackendUnavailable>
  }
>() {}
