import { Duration, Either, Encoding, Redacted, Schema } from "effect"
import { idSchema } from "../ids/IdGenerator.ts"
import { parseOutboundUrl } from "../shared/OutboundUrl.ts"
import { UserId } from "../shared/UserId.ts"
import { WebhookUrlInvalid } from "./WebhookErrors.ts"

export const WebhookEndpointId = idSchema("WebhookEndpointId", "A webhook endpoint's id, whe_…")
export type WebhookEndpointId = typeof WebhookEndpointId.Type

export const WebhookDeliveryId = idSchema("WebhookDeliveryId", "A delivery's id, dlv_…: the header `webhook-id`")
export type WebhookDeliveryId = typeof WebhookDeliveryId.Type

/** `gone`: the receiver responded with 410. `failing`: no attempt succeeded for `maximumFailingTime`. */
export const DisabledReason = Schema.Literal("gone", "failing").annotations({ identifier: "WebhookDisabledReason" })
export type DisabledReason = typeof DisabledReason.Type

/** An address that receives events of its owner, or of accounts if the owner is an administrator. */
export const WebhookEndpoint = Schema.Struct({
  id: WebhookEndpointId,
  userId: UserId,
  url: Schema.String,
  kinds: Schema.Array(Schema.String),
  /** Whether each delivery waits for the previous one. */
  isOrdered: Schema.Boolean,
  failingSince: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  disabledAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  disabledReason: Schema.NullOr(DisabledReason),
  createdAt: Schema.DateTimeUtcFromSelf
})
export type WebhookEndpoint = typeof WebhookEndpoint.Type

export const maximumEndpointsPerUser = 20

/** Time during which deliveries carry signatures of both secrets. */
export const secretOverlap = Duration.hours(24)

/** Makes a secret in the format of Standard Webhooks: the prefix and 256 bits in base64. */
export const makeWebhookSecret = (token: Redacted.Redacted): Redacted.Redacted => {
  const bytes = Either.getOrThrow(Encoding.decodeBase64Url(Redacted.value(token)))
  return Redacted.make(`whsec_${Encoding.encodeBase64(bytes)}`)
}

export const parseWebhookUrl = (
  text: string,
  options: { readonly httpsOnly: boolean }
): Either.Either<URL, WebhookUrlInvalid> =>
  Either.mapLeft(parseOutboundUrl(text, options), (reason) => new WebhookUrlInvalid({ reason: `\`url\` ${reason}` }))
