import { CardEventMalformed, CardEventsNotConfigured } from "@berth/domain/billing/events/CardEventInbox"
import { SignatureInvalid } from "@berth/domain/billing/events/CardEventSignature"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { errorBody, plainErrorBody } from "../../http/ErrorBody.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"

// The same body for every cause, so that it reveals nothing about the failed check.
const SignatureInvalidBody = errorBody(SignatureInvalid, {
  status: 400,
  error: "Invalid signature",
  message:
    "The card processor has not signed this just now. The signature belongs in the header cardProcessor-signature.",
  read: () => new SignatureInvalid({ fault: "wrong" })
})
const CardEventMalformedBody = plainErrorBody(CardEventMalformed, {
  status: 400,
  error: "Malformed event",
  message: "The body is no event of the card processor."
})
const CardEventsNotConfiguredBody = plainErrorBody(CardEventsNotConfigured, {
  status: 500,
  error: "Card events are not configured",
  message: "This service knows no secret of the card processor. Its operator sets one by STRIPE_WEBHOOK_SECRET."
})

/** The signature covers the raw body, so it is verified before any schema decodes the body. */
const receive = HttpApiEndpoint.post("receiveCardEvent", "/api/webhooks/cardProcessor")
  .addSuccess(Schema.Struct({ received: Schema.Literal(true) }).annotations({ identifier: "EventReceived" }))
  .addError(SignatureInvalidBody)
  .addError(CardEventMalformedBody)
  .addError(CardEventsNotConfiguredBody)
  .annotate(OpenApi.Summary, "Receive an event of the card processor")
  .annotate(
    OpenApi.Description,
    "Receives an event of the card processor: JSON of at most 1 MiB, signed in the header cardProcessor-signature (or stripe-signature): t=<epoch seconds>,v1=<HMAC-SHA256 of t, a dot and the body, in hex>, with a tolerance of five minutes. A repeated event receives the same response."
  )

export class WebhooksApi extends HttpApiGroup.make("webhooks").add(receive).addError(InternalFailureBody) {}
