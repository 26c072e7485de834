import { ChallengeTerms } from "@berth/domain/gateway/payments/ChallengeMessage"
import { PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import { HttpApiSchema } from "@effect/platform"
import { Data, Schema } from "effect"
import { errorClassSchema, errorBody, errorFields } from "../http/ErrorBody.ts"

/** There is no plugin of this name. */
export class PluginNotFound extends Data.TaggedError("PluginNotFound")<object> {}
/** Another request with the same payment is still being answered. */
export class PaymentInProgress extends Data.TaggedError("PaymentInProgress")<object> {}
/** The chain on which machines pay cannot be reached, so that nothing is known about a payment. */
export class PaymentsUnavailable extends Data.TaggedError("PaymentsUnavailable")<object> {}

export const PluginNotFoundBody = errorBody(PluginNotFound, {
  status: 502,
  code: "no_plugin",
  error: "no_plugin",
  message: "There is no such plugin. There are agent, generate-text, tts and stt.",
  read: () => new PluginNotFound()
})
/** The plugin could not do it: nothing was charged, and a payment stays good for the same request. */
export const PluginFailedBody = errorBody(PluginFailed, {
  status: 500,
  code: "plugin_failed",
  error: "internal",
  message: ({ reason }) => `The call cost nothing, but it failed: ${reason}`,
  read: (message) => new PluginFailed({ reason: message.replace(/^The call cost nothing, but it failed: /, "") })
})
export const PaymentInProgressBody = errorBody(PaymentInProgress, {
  status: 409,
  code: "payment_in_progress",
  error: "Payment in progress",
  message: "Another request with this payment is being answered. Do not pay again; repeat the request in a moment.",
  read: () => new PaymentInProgress()
})
export const PaymentsUnavailableBody = errorBody(PaymentsUnavailable, {
  status: 503,
  code: "payments_unavailable",
  error: "internal",
  message: "Payments cannot be checked for the moment. Do not pay again; repeat the request with the same credential.",
  read: () => new PaymentsUnavailable()
})

/** How to pay by card: units and credits are bought there. */
export const CardCheckout = Schema.Struct({
  checkoutUrl: Schema.String,
  amount: Schema.Number.annotations({ description: "What this call costs, in US dollars" }),
  currency: Schema.Literal("usd")
}).annotations({ identifier: "CardCheckout" })

/**
 * The call is not paid for, and each way in which it can be. The members from `mpp` on are those of a challenge for machines,
 * as the interface and as RFC 9457 have them; `WWW-Authenticate` says the same.
 */
export const PaymentRequiredFields = Schema.Struct({
  ...errorFields("payment_required"),
  cardProcessor: CardCheckout,
  mpp: Schema.optional(ChallengeTerms),
  type: Schema.optional(Schema.String),
  title: Schema.optional(Schema.String),
  status: Schema.optional(Schema.Int),
  detail: Schema.optional(Schema.String),
  challengeId: Schema.optional(Schema.String)
}).annotations({ identifier: "PaymentRequired" })
export type PaymentRequiredFields = typeof PaymentRequiredFields.Type

/** Only ever written: its status is that of what is wrong with the payment. */
export class PaymentRequired extends Data.TaggedError("PaymentRequired")<{ readonly body: PaymentRequiredFields }> {}

const required = (status: 400 | 402, description: string) =>
  Schema.transform(PaymentRequiredFields, errorClassSchema(PaymentRequired), {
    strict: true,
    decode: (body) => new PaymentRequired({ body }),
    encode: ({ body }) => body
  }).annotations(HttpApiSchema.annotations({ status, description }))

export const PaymentRequiredBody = required(402, "The call is not paid for")
export const PaymentUnreadableBody = required(400, "The payment is not of a kind that is taken")
