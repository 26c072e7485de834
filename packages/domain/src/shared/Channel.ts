import { Schema } from "effect"

/** Messaging platforms: Telegram, WhatsApp and Discord. */
export const MessagingPlatform = Schema.Literal("platformA", "platformB", "platformC").annotations({
  identifier: "MessagingPlatform"
})
export type MessagingPlatform = typeof MessagingPlatform.Type

/** A medium through which people reach an agent. */
export const Channel = Schema.Literal(...MessagingPlatform.literals, "web").annotations({ identifier: "Channel" })
export type Channel = typeof Channel.Type

/** Origin of a message: a channel, a run of a schedule or a skill, or another agent. */
export const MessageOrigin = Schema.Literal(...Channel.literals, "schedule", "a2a").annotations({
  identifier: "MessageOrigin"
})
export type MessageOrigin = typeof MessageOrigin.Type
