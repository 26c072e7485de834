import { WebhookReceiverUnreachable } from "@berth/domain/webhooks/WebhookErrors"
import { type WebhookMessage, WebhookReceiver } from "@berth/domain/webhooks/WebhookReceiver"
import { DateTime, Duration, Effect, Layer, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { OutboundClient } from "../net/OutboundClient.ts"

const defaultTimeout = Duration.seconds(15)
/** Further bytes of a response are not read. */
const maximumBytes = 64 * 1024

const sign = (content: string, secret: Redacted.Redacted): string => {
  const key = Buffer.from(Redacted.value(secret).replace(/^whsec_/, ""), "base64")
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`
}

/** Makes the headers of Standard Webhooks 1.0.0, with one signature per secret, the newest first. */
export const makeWebhookHeaders = ({ body, id, secrets, sentAt }: WebhookMessage) => {
  const timestamp = String(Math.floor(DateTime.toEpochMillis(sentAt) / 1000))
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => sign(`${id}.${timestamp}.${body}`, secret)).join(" ")
  }
}

/** `timeout`: limit of an attempt; default: 15 seconds. */
export const layer = ({ timeout = defaultTimeout }: { readonly timeout?: Duration.DurationInput } = {}): Layer.Layer<
  WebhookReceiver,
  never,
  OutboundClient
> =>
  Layer.effect(
    WebhookReceiver,
    Effect.map(OutboundClient, ({ send }) =>
      WebhookReceiver.of({
        post: Effect.fn("WebhookReceiver.post")((url: URL, message: WebhookMessage) =>
          send({
            method: "POST",
            url,
            headers: {
              "content-type": "application/json",
              ...message.headers,
              ...(message.secrets.length === 0 ? {} : makeWebhookHeaders(message))
            },
            body: message.body,
            timeout,
            maximumBytes
          }).pipe(
            Effect.map(({ status }) => status),
            Effect.mapError(({ message: reason }) => new WebhookReceiverUnreachable({ reason }))
          )
        )
      })
    )
  )
