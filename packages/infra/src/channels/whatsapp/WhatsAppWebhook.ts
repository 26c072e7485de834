import { Option, Redacted, Schema } from "effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import { digests } from "../../crypto/NodeDigests.ts"
import { MessagesValue, WhatsAppMessage, WhatsAppNotification } from "./WhatsAppObjects.ts"

/** `X-Hub-Signature-256`: HMAC-SHA256 over the raw body with the app's secret. Constant-time. */
export const isSignatureValid = (
  appSecret: Redacted.Redacted,
  body: Uint8Array,
  signature: string | undefined
): boolean => {
  const [, presented] = /^sha256=([0-9a-f]{64})$/i.exec(signature ?? "") ?? []
  if (presented === undefined) return false
  const expected = createHmac("sha256", Redacted.value(appSecret)).update(body).digest()
  return timingSafeEqual(expected, Buffer.from(presented, "hex"))
}

/** Returns the challenge to echo if the verify token of a subscription is correct. Constant-time. */
export const readChallenge = (verifyToken: Redacted.Redacted, query: URLSearchParams): Option.Option<string> => {
  const token = query.get("hub.verify_token")
  const isVerified =
    query.get("hub.mode") === "subscribe" && token !== null && digests.equal(Redacted.make(token), verifyToken)
  return isVerified ? Option.fromNullable(query.get("hub.challenge")) : Option.none()
}

export interface WhatsAppMedia {
  readonly kind: "image" | "audio" | "video" | "document" | "sticker"
  readonly id: string
  /** Whether the audio was recorded in the app, instead of sent as a file. */
  readonly isVoice: boolean
  readonly mimeType: Option.Option<string>
  readonly filename: Option.Option<string>
}

export interface NotifiedMessage {
  readonly id: string
  /** Phone number of the sender, digits only. */
  readonly from: string
  readonly senderName: Option.Option<string>
  readonly sentAtSeconds: number
  readonly text: string
  readonly media: Option.Option<WhatsAppMedia>
}

const readMedia = (
  kind: WhatsAppMedia["kind"],
  media: Extract<WhatsAppMessage, { readonly type: "image" }>["image"]
): Pick<NotifiedMessage, "media" | "text"> => ({
  text: media.caption ?? "",
  media: Option.some({
    kind,
    id: media.id,
    isVoice: media.voice === true,
    mimeType: Option.fromNullable(media.mime_type),
    filename: Option.fromNullable(media.filename)
  })
})

const readContent = (message: WhatsAppMessage): Pick<NotifiedMessage, "media" | "text"> => {
  switch (message.type) {
    case "text":
      return { text: message.text.body, media: Option.none() }
    case "button":
      return { text: message.button.text, media: Option.none() }
    case "interactive": {
      const { interactive } = message
      const reply = "button_reply" in interactive ? interactive.button_reply : interactive.list_reply
      return { text: reply.title, media: Option.none() }
    }
    case "location": {
      const { address, latitude, longitude, name } = message.location
      const place = [name, address].filter((part) => part !== undefined && part !== null && part !== "")
      return { text: [...place, `${latitude}, ${longitude}`].join("\n"), media: Option.none() }
    }
    case "image":
      return readMedia("image", message.image)
    case "audio":
      return readMedia("audio", message.audio)
    case "video":
      return readMedia("video", message.video)
    case "document":
      return readMedia("document", message.document)
    case "sticker":
      return readMedia("sticker", message.sticker)
  }
}

const decodeNotification = Schema.decodeUnknownOption(Schema.parseJson(WhatsAppNotification))
const decodeValue = Schema.decodeUnknownOption(MessagesValue)
const decodeMessage = Schema.decodeUnknownOption(WhatsAppMessage)

/**
 * Reads the messages of a delivery to a phone number; none if the body is not a notification. Ignores statuses and
 * unknown types.
 */
export const readNotification = (body: string, phoneNumberId: string): Option.Option<ReadonlyArray<NotifiedMessage>> =>
  Option.map(decodeNotification(body), ({ entry }) =>
    entry
      .flatMap(({ changes }) => changes)
      .filter(({ field }) => field === "messages")
      .flatMap(({ value }) => Option.toArray(decodeValue(value)))
      .filter(({ metadata }) => metadata.phone_number_id === phoneNumberId)
      .flatMap(({ contacts, messages }) => {
        const names = new Map(contacts.map(({ profile, wa_id }) => [wa_id, profile?.name]))
        return messages
          .flatMap((message) => Option.toArray(decodeMessage(message)))
          .map((message) => ({
            id: message.id,
            from: message.from,
            senderName: Option.fromNullable(names.get(message.from)),
            sentAtSeconds: message.timestamp,
            ...readContent(message)
          }))
      })
  )
