import { ProviderFailureKind } from "@berth/domain/ai/models/ModelErrors"
import { type CallUnpaid, PaymentInProgress } from "@berth/domain/gateway/GatewayErrors"
import type { PaymentFailure } from "@berth/domain/gateway/payments/PaymentFailure"
import { PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import { HttpApiSchema } from "@effect/platform"
import { Data, Option, Schema } from "effect"
import { unconfirmedMessage } from "../billing/BillingErrorBodies.ts"
import { errorClassSchema, extendedErrorBody, plainErrorBody, errorFields, exampleTraceId } from "../http/ErrorBody.ts"
import { ChallengeTerms, formatChallengeHeader, makeChallengeBody } from "./payments/ChallengeMessage.ts"

export class PluginNotFound extends Data.TaggedError("PluginNotFound")<object> {}
/** The chain of machine payments is unreachable, so no payment can be verified. */
export class PaymentsUnavailable extends Data.TaggedError("PaymentsUnavailable")<object> {}

export const PluginNotFoundBody = plainErrorBody(PluginNotFound, {
  status: 502,
  error: "no_plugin",
  message: "Unknown plugin; use agent, generate-text, tts or stt."
})
/** Undelivered output is free, and a machine payment stays redeemable for the same request. */
export const PluginFailedBody = extendedErrorBody(
  PluginFailed,
  Schema.Struct({
    kind: Schema.optional(ProviderFailureKind).annotations({ description: "Kind of failure at the model provider" })
  }),
  {
    status: 500,
    error: "internal",
    message: ({ reason }) => `The call failed: ${reason}`,
    members: ({ kind }) => (kind === undefined ? {} : { kind }),
    example: new PluginFailed({ reason: "the agent gave no answer" }),
    read: (message, { kind }) => new PluginFailed({ reason: message.replace(/^The call failed: /, ""), kind })
  }
)
export const PaymentInProgressBody = plainErrorBody(PaymentInProgress, {
  status: 409,
  error: "Payment in progress",
  message: "Another request with this payment is in progress. Do not pay again; repeat the request in a moment."
})
export const PaymentsUnavailableBody = plainErrorBody(PaymentsUnavailable, {
  status: 503,
  error: "internal",
  message: "Payments cannot be verified at the moment. Do not pay again; repeat the request with the same credential."
})

/** Page that sells units and credits. */
const pricingPath = "/pricing"

const CardCheckout = Schema.Struct({
  checkoutUrl: Schema.String,
  amount: Schema.Number.annotations({ description: "Price of this call in US dollars" }),
  currency: Schema.Literal("usd")
}).annotations({ identifier: "CardCheckout" })

/**
 * The unpaid call and its payment methods. The members from `mpp` on are the challenge, in the formats of the interface
 * specification and of RFC 9457.
 */
const PaymentRequiredFields = Schema.Struct({
  ...errorFields("payment_required"),
  cardProcessor: CardCheckout,
  mpp: Schema.optional(ChallengeTerms),
  type: Schema.optional(Schema.String),
  title: Schema.optional(Schema.String),
  status: Schema.optional(Schema.Int),
  detail: Schema.optional(Schema.String),
  challengeId: Schema.optional(Schema.String)
}).annotations({
  identifier: "PaymentRequired",
  examples: [
    {
      error: "payment_required",
      message: "Today's remaining units and the credits do not cover this call.",
      code: "payment_required",
      cardProcessor: { checkoutUrl: "https://berth.example/pricing", amount: 0.01, currency: "usd" },
      traceId: exampleTraceId
    }
  ]
})
type PaymentRequiredFields = typeof PaymentRequiredFields.Type

/** Encode-only; its status is that of the payment problem. */
export class PaymentRequired extends Data.TaggedError("PaymentRequired")<{ readonly body: PaymentRequiredFields }> {}

const required = (status: 400 | 402, description: string) =>
  Schema.transform(PaymentRequiredFields, errorClassSchema(PaymentRequired), {
    strict: true,
    decode: (body) => new PaymentRequired({ body }),
    encode: ({ body }) => body
  }).annotations(HttpApiSchema.annotations({ status, description }))

export const PaymentRequiredBody = required(402, "The call is not paid for")
export const PaymentUnreadableBody = required(400, "The payment method is not supported")

/** Reasons other than payment failures. */
const unpaidMessages = {
  "units exhausted":
    "Today's remaining units and the credits do not cover this call. Buy credits, request a shorter answer, or wait for new units at midnight UTC.",
  "email unconfirmed": unconfirmedMessage,
  "machine payments off":
    "This service takes no machine payments. Sign in and repeat the request without the payment method mpp: units and credits of the account then pay."
} as const

const isPaymentFailure = (reason: CallUnpaid["reason"]): reason is PaymentFailure => !(reason in unpaidMessages)

interface PaymentRequiredMessage {
  readonly status: 400 | 402
  readonly headers: Readonly<Record<string, string>>
  readonly body: PaymentRequiredFields
}

/**
 * Makes the response to an unpaid call, complete for the interface specification and for the "Payment" HTTP
 * authentication draft.
 */
export const describeUnpaidCall = (
  { challenge, priceUsd, reason }: CallUnpaid,
  appUrl: URL
): PaymentRequiredMessage => {
  const message = isPaymentFailure(reason) ? undefined : unpaidMessages[reason]
  const common = {
    code: "payment_required",
    cardProcessor: { checkoutUrl: appUrl.origin + pricingPath, amount: priceUsd, currency: "usd" }
  } as const
  const uncached = { "cache-control": "no-store" }
  return Option.match(challenge, {
    onNone: () => ({
      status: 402,
      headers: uncached,
      body: {
        error: "payment_required",
        message: message ?? unpaidMessages["units exhausted"],
        ...common
      }
    }),
    onSome: (issued) => {
      const body = makeChallengeBody(issued, isPaymentFailure(reason) ? reason : "no credential")
      return {
        status: body.status,
        headers: { "www-authenticate": formatChallengeHeader(issued), ...uncached },
        body: Object.assign({}, body, message === undefined ? {} : { message }, common)
      }
    }
  })
}
