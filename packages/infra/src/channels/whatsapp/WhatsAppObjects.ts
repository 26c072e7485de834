import { Schema } from "effect"
import { optionalNullable } from "../../ai/vendor/VendorBodies.ts"

/*
 * Objects of the WhatsApp Cloud API, limited to the required members.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp
 */

export const GraphError = Schema.Struct({ error: Schema.Struct({ code: Schema.Number }) })

/** `GET /debug_token`. A scope without `target_ids` is granted on every asset of the business. */
export const TokenInspection = Schema.Struct({
  data: Schema.Struct({
    is_valid: Schema.Boolean,
    expires_at: optionalNullable(Schema.Number),
    scopes: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
    granular_scopes: Schema.optionalWith(
      Schema.Array(Schema.Struct({ scope: Schema.String, target_ids: optionalNullable(Schema.Array(Schema.String)) })),
      { default: () => [] }
    )
  })
})
export type TokenInspection = typeof TokenInspection.Type

export const PhoneNumber = Schema.Struct({
  id: Schema.String,
  display_phone_number: optionalNullable(Schema.String),
  verified_name: optionalNullable(Schema.String)
})
export type PhoneNumber = typeof PhoneNumber.Type

export const PhoneNumbers = Schema.Struct({ data: Schema.Array(PhoneNumber) })

export const Acknowledgment = Schema.Struct({ success: Schema.Boolean })

export const SentMessages = Schema.Struct({ messages: Schema.NonEmptyArray(Schema.Struct({ id: Schema.String })) })

export const MediaDetails = Schema.Struct({
  url: Schema.String,
  file_size: optionalNullable(Schema.Union(Schema.Number, Schema.NumberFromString))
})
export type MediaDetails = typeof MediaDetails.Type

const Media = Schema.Struct({
  id: Schema.String,
  mime_type: optionalNullable(Schema.String),
  caption: optionalNullable(Schema.String),
  filename: optionalNullable(Schema.String),
  voice: optionalNullable(Schema.Boolean)
})

const Reply = Schema.Struct({ id: Schema.String, title: Schema.String })

const messageFields = {
  id: Schema.NonEmptyString,
  from: Schema.NonEmptyString,
  /** Epoch seconds. */
  timestamp: Schema.NumberFromString
}

/** A message of a person. Unlisted types have no text or media. */
export const WhatsAppMessage = Schema.Union(
  Schema.Struct({ ...messageFields, type: Schema.Literal("text"), text: Schema.Struct({ body: Schema.String }) }),
  Schema.Struct({ ...messageFields, type: Schema.Literal("image"), image: Media }),
  Schema.Struct({ ...messageFields, type: Schema.Literal("audio"), audio: Media }),
  Schema.Struct({ ...messageFields, type: Schema.Literal("video"), video: Media }),
  Schema.Struct({ ...messageFields, type: Schema.Literal("document"), document: Media }),
  Schema.Struct({ ...messageFields, type: Schema.Literal("sticker"), sticker: Media }),
  Schema.Struct({
    ...messageFields,
    type: Schema.Literal("button"),
    button: Schema.Struct({ text: Schema.String })
  }),
  Schema.Struct({
    ...messageFields,
    type: Schema.Literal("interactive"),
    interactive: Schema.Union(Schema.Struct({ button_reply: Reply }), Schema.Struct({ list_reply: Reply }))
  }),
  Schema.Struct({
    ...messageFields,
    type: Schema.Literal("location"),
    location: Schema.Struct({
      latitude: Schema.Number,
      longitude: Schema.Number,
      name: optionalNullable(Schema.String),
      address: optionalNullable(Schema.String)
    })
  })
)
export type WhatsAppMessage = typeof WhatsAppMessage.Type

/** A delivery of several entries, changes and messages. Messages are decoded one by one. */
export const WhatsAppNotification = Schema.Struct({
  object: Schema.Literal("whatsapp_business_account"),
  entry: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      changes: Schema.Array(Schema.Struct({ field: Schema.String, value: Schema.Unknown }))
    })
  )
})

/** Value of a change of the field `messages`; statuses are ignored. */
export const MessagesValue = Schema.Struct({
  metadata: Schema.Struct({ phone_number_id: Schema.String }),
  contacts: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        wa_id: Schema.String,
        profile: optionalNullable(Schema.Struct({ name: optionalNullable(Schema.String) }))
      })
    ),
    { default: () => [] }
  ),
  messages: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] })
})
