import { Schema } from "effect"
import { optionalNullable } from "../../ai/vendor/VendorBodies.ts"

/* Objects of the Discord API v10, limited to the required members. https://docs.discord.com/developers/reference */

/** `retry_after` of a 429, in seconds. */
export const DiscordErrorBody = Schema.Struct({
  code: optionalNullable(Schema.Number),
  retry_after: optionalNullable(Schema.Number)
})

export const DiscordUser = Schema.Struct({
  id: Schema.String,
  username: Schema.String,
  global_name: optionalNullable(Schema.String),
  bot: Schema.optionalWith(Schema.Boolean, { default: () => false })
})
export type DiscordUser = typeof DiscordUser.Type

export const DiscordApplication = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** Ed25519, 32 bytes in hexadecimal. */
  verify_key: Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/i)),
  flags: Schema.optionalWith(Schema.Number, { default: () => 0 })
})

export const GatewayInformation = Schema.Struct({
  url: Schema.String,
  session_start_limit: Schema.Struct({ remaining: Schema.Number, reset_after: Schema.Number })
})

export const DiscordCommand = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  options: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({ type: Schema.Number, name: Schema.String, required: optionalNullable(Schema.Boolean) })
    ),
    { default: () => [] }
  )
})
export type DiscordCommand = typeof DiscordCommand.Type

export const CreatedMessage = Schema.Struct({ id: Schema.String })

export const DiscordAttachment = Schema.Struct({
  filename: Schema.String,
  size: Schema.Number,
  url: Schema.String,
  content_type: optionalNullable(Schema.String),
  /** Voice messages only, like `waveform`. */
  duration_secs: optionalNullable(Schema.Number),
  waveform: optionalNullable(Schema.String)
})
export type DiscordAttachment = typeof DiscordAttachment.Type

/** `MESSAGE_CREATE`. A direct message has no `guild_id`. */
export const DiscordMessage = Schema.Struct({
  id: Schema.NonEmptyString,
  channel_id: Schema.NonEmptyString,
  guild_id: optionalNullable(Schema.String),
  webhook_id: optionalNullable(Schema.String),
  type: Schema.Number,
  author: DiscordUser,
  content: Schema.String,
  mentions: Schema.optionalWith(Schema.Array(Schema.Struct({ id: Schema.String })), { default: () => [] }),
  attachments: Schema.optionalWith(Schema.Array(DiscordAttachment), { default: () => [] }),
  referenced_message: optionalNullable(Schema.Struct({ author: Schema.Struct({ id: Schema.String }) }))
})

/** A request of a user: a ping, or a slash command. */
export const DiscordInteraction = Schema.Struct({
  id: Schema.NonEmptyString,
  application_id: Schema.String,
  type: Schema.Number,
  token: Schema.NonEmptyString,
  channel_id: optionalNullable(Schema.String),
  guild_id: optionalNullable(Schema.String),
  user: optionalNullable(DiscordUser),
  member: optionalNullable(Schema.Struct({ user: DiscordUser })),
  data: optionalNullable(
    Schema.Struct({
      name: optionalNullable(Schema.String),
      options: optionalNullable(
        Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.optional(Schema.Unknown) }))
      )
    })
  )
})
