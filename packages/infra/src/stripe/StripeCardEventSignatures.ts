import { CardEventSignatures } from "@berth/domain/billing/events/CardEventInbox"
import { Layer, Option, Redacted } from "effect"
import { createHmac } from "node:crypto"

/** By the secret as the card processor shows it: its text is the key, with the prefix. */
export const layer = (secret: Option.Option<Redacted.Redacted>): Layer.Layer<CardEventSignatures> =>
  Layer.succeed(CardEventSignatures, {
    hmac: Option.map(
      secret,
      (key) => (bytes: Uint8Array) => createHmac("sha256", Redacted.value(key)).update(bytes).digest("hex")
    )
  })
