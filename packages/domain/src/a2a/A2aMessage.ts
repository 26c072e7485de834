import { type DateTime, Schema } from "effect"
import type { AgentStatus } from "../agents/AgentStatus.ts"
import { getIdSuffix, idSchema } from "../ids/IdGenerator.ts"
import { AgentId } from "../shared/AgentId.ts"
import { MessageId } from "../interaction/Conversation.ts"
import type { UserId } from "../shared/UserId.ts"
import type { Units } from "../shared/Money.ts"
import { type MessageChain, continueChain, Delegation } from "./Delegation.ts"

export const A2aMessageId = idSchema("A2aMessageId", "Id of a message between agents, a2a_…")
export type A2aMessageId = typeof A2aMessageId.Type

/** `request`: the reply is returned. `notify`: nothing is returned. `delegate`: a task with a budget, or an offered skill. */
export const A2aMode = Schema.Literal("request", "notify", "delegate").annotations({ identifier: "A2aMode" })
export type A2aMode = typeof A2aMode.Type

/** A `high` message does not queue behind `normal` messages. */
export const A2aPriority = Schema.Literal("normal", "high").annotations({ identifier: "A2aPriority" })
export type A2aPriority = typeof A2aPriority.Type

/** `waiting`: in progress. `refused`: the receiver ran no turn. */
export const A2aStatus = Schema.Literal("waiting", "answered", "failed", "refused", "expired").annotations({
  identifier: "A2aStatus"
})
export type A2aStatus = typeof A2aStatus.Type

const external = Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,128}$/)).annotations({
  description: "1 to 128 visible ASCII characters"
})

const fields = {
  version: Schema.Literal("1.0"),
  /** Chosen by the sender; unique among the sender's messages. */
  messageId: external,
  from: AgentId,
  to: AgentId,
  mode: A2aMode,
  skill: Schema.optional(Schema.String),
  payload: Schema.Unknown,
  priority: Schema.optional(A2aPriority),
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

/** The payload of a delegation with `skill`. */
export const DelegatedCall = Schema.Struct({
  tool: Schema.String,
  arguments: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
})

/** Maximum characters of a payload as JSON. */
export const maximumPayloadLength = 16_000

/** Maximum messages in progress: per sender, so that one sender cannot flood the others, and per receiver. */
export const maximumInProgress = { sender: 16, receiver: 64 }

/** Retention of ended messages. */
export const a2aRetention = "30 days"

/** Position of a message in its chain, as recorded by the service. */
export interface A2aLink {
  /** Id of the first message. */
  readonly chainId: A2aMessageId
  readonly chain: MessageChain
  /** Expiry of the message or of its chain, whichever is earlier. */
  readonly expiresAt: DateTime.Utc | null
  /** The sender's turn that sent the message; null for a message from outside. */
  readonly parentTurn: string | null
  /** Maximum units of the message and of all messages that follow from it; null without a budget. */
  readonly budgetUnits: number | null
}

/** An accepted message with its outcome. */
export interface A2aMessage extends A2aLink {
  readonly id: A2aMessageId
  readonly envelope: A2aEnvelope
  /** Units of the message and of all messages that follow from it; null until the end. */
  readonly usedUnits: number | null
  /** Whether sender and receiver have different owners. */
  readonly isForeign: boolean
  readonly status: A2aStatus
  /** The reply of the agent, or the result of the skill. */
  readonly reply: string | null
  /** Reason for a missing reply. */
  readonly reason: string | null
  readonly createdAt: DateTime.Utc
  /** Null while the message is in progress. */
  readonly endedAt: DateTime.Utc | null
}

/** A message in progress with the state of its receiver. */
export interface StartedMessage {
  readonly id: A2aMessageId
  readonly envelope: A2aEnvelope
  readonly expiresAt: DateTime.Utc | null
  readonly budgetUnits: Units | null
  readonly ownerId: UserId
  readonly agentStatus: AgentStatus
  readonly senderName: string
}

/** Agents and owners that may write to an agent, and the skills that it offers to them. */
export interface A2aSettings {
  readonly allow: ReadonlyArray<string>
  readonly skills: ReadonlyArray<string>
}

/** The receiver's turn for a message; the same for every attempt. */
export const makeA2aTurnId = (id: A2aMessageId): MessageId => MessageId.make(`msg_${getIdSuffix(id)}`)

/** Inverse of `makeA2aTurnId`. The message exists only if another agent began the turn. */
export const makeIdOfTurn = (turnId: string): A2aMessageId => A2aMessageId.make(`a2a_${getIdSuffix(turnId)}`)

/** Formats a message for the receiving model. The sender is named by the service, not by the text. */
export const formatForAgent = ({
  budgetUnits,
  envelope,
  senderName
}: Pick<StartedMessage, "budgetUnits" | "envelope" | "senderName">): string => {
  const { from, payload } = envelope
  const text = typeof payload === "string" ? payload : JSON.stringify(payload)
  const budget = budgetUnits === null ? "" : `, with a budget of ${budgetUnits} units`
  return `Message from the agent ${JSON.stringify(senderName)} (${from})${budget}:\n\n${text}`
}

/** Reasons shown to another owner; they reveal nothing about the account of the agent. */
const foreignReasons: Partial<Record<A2aStatus, string>> = {
  refused: "The agent does not take messages at the moment.",
  failed: "The agent could not answer."
}

/** Returns the reason in the form that the sender may read. */
export const findSenderReason = ({ isForeign, reason, status }: A2aMessage): string | null =>
  isForeign ? (foreignReasons[status] ?? reason) : reason

/** Returns the reply as a message of the receiver; null without a reply. */
export const makeA2aReply = (message: A2aMessage): A2aEnvelope | null => {
  const { budgetUnits, chain, endedAt, envelope, id, reply, usedUnits } = message
  const { from, messageId, mode, to } = envelope
  if (reply === null || endedAt === null) return null
  return {
    version: "1.0",
    messageId: id,
    timestamp: endedAt,
    from: to,
    to: from,
    mode: "notify",
    payload: reply,
    replyTo: messageId,
    ...(mode === "delegate" && budgetUnits !== null
      ? { delegation: { ...continueChain(chain, to), budgetUnits: Math.max(0, budgetUnits - (usedUnits ?? 0)) } }
      : {})
  }
}
