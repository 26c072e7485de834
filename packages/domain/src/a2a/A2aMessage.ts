import { type DateTime, Either, Schema } from "effect"
import type { AgentStatus } from "../agents/AgentStatus.ts"
import { idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import { Delegation, extendDelegation } from "./Delegation.ts"

export const A2aMessageId = idSchema("A2aMessageId", "Id of a message between agents, a2a_…")
export type A2aMessageId = typeof A2aMessageId.Type

/** `request`: the reply is returned. `notify`: nothing is returned. `delegate`: the receiver runs one of its offered skills. */
export const A2aMode = Schema.Literal("request", "notify", "delegate").annotations({ identifier: "A2aMode" })
export type A2aMode = typeof A2aMode.Type

/** `waiting` is in progress. `refused`: the receiver was not asked. */
export const A2aStatus = Schema.Literal("waiting", "answered", "failed", "refused", "expired").annotations({
  identifier: "A2aStatus"
})
export type A2aStatus = typeof A2aStatus.Type

const external = Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,128}$/)).annotations({
  description: "1 to 128 visible ASCII characters"
})

const fields = {
  version: Schema.Literal("1.0"),
  /** Chosen by the sender; names the message among the sender's. */
  messageId: external,
  from: AgentId,
  to: AgentId,
  mode: A2aMode,
  skill: Schema.optional(Schema.String),
  payload: Schema.Unknown,
  /** The message that this one replies to. */
  replyTo: Schema.optional(external),
  delegation: Schema.optional(Delegation)
}

/** A message between agents. */
export const A2aEnvelope = Schema.Struct({
  ...fields,
  timestamp: Schema.DateTimeUtc,
  expiresAt: Schema.optional(Schema.DateTimeUtc)
}).annotations({ identifier: "A2aEnvelope" })
export type A2aEnvelope = typeof A2aEnvelope.Type

/** The payload of a delegation. */
export const DelegatedCall = Schema.Struct({
  tool: Schema.String,
  arguments: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
})

/** Most characters of a payload as JSON. */
export const maximumPayloadLength = 16_000

/** Messages in progress at once: of a sender, so that one cannot flood others, and to a receiver. */
export const maximumInProgress = { sender: 16, receiver: 64 }

/** Ended messages are kept for this time. */
export const a2aRetention = "30 days"

/** An accepted message with its outcome. */
export interface A2aMessage {
  readonly id: A2aMessageId
  readonly envelope: A2aEnvelope
  readonly status: A2aStatus
  /** The reply of the agent, or the result of the skill. */
  readonly reply: string | null
  /** Why there is no reply. */
  readonly reason: string | null
  readonly createdAt: DateTime.Utc
}

/** A message in progress with the state of its receiver. */
export interface StartedMessage {
  readonly id: A2aMessageId
  readonly envelope: A2aEnvelope
  readonly ownerId: UserId
  readonly agentStatus: AgentStatus
  readonly senderName: string
}

/** Agents and owners that may write to an agent, and the skills that it offers to them. */
export interface A2aSettings {
  readonly allow: ReadonlyArray<string>
  readonly skills: ReadonlyArray<string>
}

/** The message as the receiving model reads it. The sender is named by the service, not by the text. */
export const formatForAgent = ({ envelope, senderName }: Pick<StartedMessage, "envelope" | "senderName">): string => {
  const { from, payload } = envelope
  const text = typeof payload === "string" ? payload : JSON.stringify(payload)
  return `Message from the agent ${JSON.stringify(senderName)} (${from}):\n\n${text}`
}

/** The reply as a message of the receiver; null where there is none. */
export const makeA2aReply = ({ envelope, id, reply }: A2aMessage, now: DateTime.Utc): A2aEnvelope | null => {
  const { delegation, from, messageId, to } = envelope
  if (reply === null) return null
  const extended =
    delegation === undefined ? undefined : Either.getOrUndefined(extendDelegation(delegation, { from, to }))
  return {
    version: "1.0",
    messageId: id,
    timestamp: now,
    from: to,
    to: from,
    mode: "notify",
    payload: reply,
    replyTo: messageId,
    ...(extended === undefined ? {} : { delegation: extended })
  }
}
