import { Schema } from "effect"
import { AgentStatus } from "../agents/AgentStatus.ts"
import { AgentId } from "../shared/AgentId.ts"
import { Channel, MessagingPlatform } from "../shared/Channel.ts"
import { UserId } from "../shared/UserId.ts"

/** The bot of a token. `details` are facts that the platform's adapter needs later, without secrets. */
export const BotIdentity = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  details: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { default: () => ({}) })
})
export type BotIdentity = typeof BotIdentity.Type

/**
 * `pending`: not yet checked. `refused`: the platform rejects the token, or another agent uses the bot. `unreachable`:
 * the check had no result and is repeated.
 */
export const ChannelState = Schema.Literal("pending", "connected", "refused", "unreachable").annotations({
  identifier: "ChannelState"
})
export type ChannelState = typeof ChannelState.Type

/** Delivery of messages: the platform calls a webhook, or a worker reads them. */
export const ChannelTransport = Schema.Literal("webhook", "polling").annotations({ identifier: "ChannelTransport" })
export type ChannelTransport = typeof ChannelTransport.Type

/**
 * Secrets of a connection. Berth generates `webhookSecret`; the next two are for platforms that sign with an
 * application's secret. The ids select a number among those that a token can access.
 */
export const ChannelSecrets = Schema.Struct({
  token: Schema.Redacted(Schema.String),
  webhookSecret: Schema.Redacted(Schema.String),
  appSecret: Schema.optional(Schema.Redacted(Schema.String)),
  verifyToken: Schema.optional(Schema.Redacted(Schema.String)),
  phoneNumberId: Schema.optional(Schema.String),
  businessAccountId: Schema.optional(Schema.String)
})
export type ChannelSecrets = typeof ChannelSecrets.Type

export type SuppliedSecrets = Omit<ChannelSecrets, "webhookSecret">

/** Identifies a connection: an agent has at most one per platform. */
export const ChannelKey = Schema.Struct({ agentId: AgentId, platform: MessagingPlatform })
export type ChannelKey = typeof ChannelKey.Type

/** Connection of an agent to a platform, with the agent's properties that decide whether it is used. */
export const ChannelConnection = Schema.Struct({
  ...ChannelKey.fields,
  ownerId: UserId,
  agentName: Schema.String,
  agentStatus: AgentStatus,
  /** The channels of the agent's configuration. */
  selectedChannels: Schema.Array(Channel),
  /** Increases when the secrets are replaced. */
  revision: Schema.Int,
  answersBots: Schema.Boolean,
  state: ChannelState,
  reason: Schema.NullOr(Schema.String),
  checkedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  bot: Schema.NullOr(BotIdentity),
  transport: Schema.NullOr(ChannelTransport)
})
export type ChannelConnection = typeof ChannelConnection.Type

/** Whether the owner has enabled the channel. */
export const isSelected = ({ platform, selectedChannels }: ChannelConnection): boolean =>
  selectedChannels.includes(platform)

export interface ChannelHealth {
  readonly state: Exclude<ChannelState, "pending">
  readonly reason: string | null
  readonly bot?: BotIdentity | undefined
  readonly transport?: ChannelTransport | undefined
}
