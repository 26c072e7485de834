import { HttpClientRequest } from "@effect/platform"
import { Effect, Option, Redacted, type Schema } from "effect"
import {
  isSecureAddress,
  makePlatformHttp,
  parseAnswer,
  type PlatformAnswer,
  PlatformAnswerMalformed
} from "../PlatformHttp.ts"
import { type WhatsAppFailure, WhatsAppRequestRejected } from "./WhatsAppErrors.ts"
import {
  Acknowledgment,
  GraphError,
  MediaDetails,
  PhoneNumbers,
  SentMessages,
  TokenInspection
} from "./WhatsAppObjects.ts"

/** Receiver of the notifications for a phone number. */
interface WebhookCallback {
  readonly url: URL
  readonly verifyToken: Redacted.Redacted
}

interface WhatsAppText {
  readonly phoneNumberId: string
  /** The recipient's phone number, digits only. */
  readonly to: string
  /** Maximum 4,096 characters. */
  readonly text: string
  /** The message that this one replies to. */
  readonly replyTo: Option.Option<string>
}

const phoneFields = "id,display_phone_number,verified_name"
const maximumNumbers = 100

/** Hosts of Meta's media, in addition to the API's host. */
const mediaHosts = /(?:^|\.)(?:fbsbx\.com|fbcdn\.net|whatsapp\.net|facebook\.com)$/

/** Whether the access token may be sent to the address of a media file. */
export const isMediaAddress = (address: URL, apiUrl: URL): boolean =>
  address.origin === apiUrl.origin || (address.protocol === "https:" && mediaHosts.test(address.hostname))

const segment = encodeURIComponent

/** Client of the required parts of the WhatsApp Cloud API, one function per endpoint. `apiUrl` includes the version. */
export const makeWhatsAppClient = (apiUrl: URL) =>
  Effect.map(makePlatformHttp, (exchange) => {
    const base = apiUrl.href.replace(/\/$/, "")

    const reject = (answer: PlatformAnswer) =>
      new WhatsAppRequestRejected({
        status: answer.status,
        code: Option.match(parseAnswer(GraphError, answer), { onNone: () => 0, onSome: ({ error }) => error.code })
      })

    const isDone = ({ status }: PlatformAnswer) => status >= 200 && status < 300

    const call = <A, I>(
      token: Redacted.Redacted,
      schema: Schema.Schema<A, I>,
      operation: string,
      request: HttpClientRequest.HttpClientRequest
    ): Effect.Effect<A, WhatsAppFailure> =>
      Effect.flatMap(
        exchange(HttpClientRequest.bearerToken(request, token)),
        (answer): Effect.Effect<A, WhatsAppRequestRejected | PlatformAnswerMalformed> =>
          isDone(answer)
            ? Effect.mapError(parseAnswer(schema, answer), () => new PlatformAnswerMalformed({ operation }))
            : reject(answer)
      )

    const get = (path: string, query: Readonly<Record<string, string>> = {}) =>
      HttpClientRequest.get(`${base}/${path}`, { urlParams: query, acceptJson: true })
    const post = (path: string, body: unknown) =>
      HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post(`${base}/${path}`, { acceptJson: true }), body)
    const postMessage = (phoneNumberId: string, message: Readonly<Record<string, unknown>>) =>
      post(`${segment(phoneNumberId)}/messages`, { messaging_product: "whatsapp", ...message })

    return {
      /** A token inspects itself. */
      inspectToken: (token: Redacted.Redacted) =>
        Effect.map(
          call(token, TokenInspection, "debug_token", get("debug_token", { input_token: Redacted.value(token) })),
          ({ data }) => data
        ),

      listPhoneNumbers: (token: Redacted.Redacted, businessAccountId: string) =>
        Effect.map(
          call(
            token,
            PhoneNumbers,
            "phone_numbers",
            get(`${segment(businessAccountId)}/phone_numbers`, { fields: phoneFields, limit: String(maximumNumbers) })
          ),
          ({ data }) => data
        ),

      /** Subscribes the token's application to the messages of a business account. Idempotent. */
      subscribe: (token: Redacted.Redacted, businessAccountId: string) =>
        Effect.asVoid(
          call(token, Acknowledgment, "subscribed_apps", post(`${segment(businessAccountId)}/subscribed_apps`, {}))
        ),

      /**
       * Directs the messages of a phone number to this callback, which the platform verifies first; none restores the
       * application's callback.
       */
      setCallback: (token: Redacted.Redacted, phoneNumberId: string, callback: Option.Option<WebhookCallback>) =>
        Effect.asVoid(
          call(
            token,
            Acknowledgment,
            "webhook_configuration",
            post(segment(phoneNumberId), {
              webhook_configuration: Option.match(callback, {
                onNone: () => ({ override_callback_uri: "" }),
                onSome: ({ url, verifyToken }) => ({
                  override_callback_uri: url.href,
                  verify_token: Redacted.value(verifyToken)
                })
              })
            })
          )
        ),

      /** Returns the id of the message. Not idempotent. */
      sendText: (token: Redacted.Redacted, { phoneNumberId, replyTo, text, to }: WhatsAppText) =>
        Effect.map(
          call(
            token,
            SentMessages,
            "messages",
            postMessage(phoneNumberId, {
              recipient_type: "individual",
              to,
              type: "text",
              text: { body: text, preview_url: false },
              ...Option.match(replyTo, { onNone: () => ({}), onSome: (id) => ({ context: { message_id: id } }) })
            })
          ),
          ({ messages }) => messages[0].id
        ),

      /** Marks a message as read and shows the typing indicator for at most 25 seconds. */
      showTyping: (token: Redacted.Redacted, phoneNumberId: string, messageId: string) =>
        Effect.asVoid(
          call(
            token,
            Acknowledgment,
            "read receipt",
            postMessage(phoneNumberId, {
              status: "read",
              message_id: messageId,
              typing_indicator: { type: "text" }
            })
          )
        ),

      findMedia: (token: Redacted.Redacted, mediaId: string) =>
        call(token, MediaDetails, "media", get(segment(mediaId))),

      /** Downloads a file. Sends the token to Meta's hosts only. */
      downloadMedia: (
        token: Redacted.Redacted,
        { url }: MediaDetails,
        maximumBytes: number
      ): Effect.Effect<Uint8Array, WhatsAppFailure> => {
        const address = URL.canParse(url) ? new URL(url) : null
        if (address === null || !isMediaAddress(address, apiUrl) || !isSecureAddress(address))
          return new PlatformAnswerMalformed({ operation: "media address" })
        return Effect.flatMap(
          exchange(HttpClientRequest.bearerToken(HttpClientRequest.get(address), token), {
            timeout: "60 seconds",
            maximumBytes
          }),
          (answer) => (isDone(answer) ? Effect.succeed(answer.bytes) : reject(answer))
        )
      }
    }
  })
