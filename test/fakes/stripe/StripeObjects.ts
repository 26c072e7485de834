import { randomBytes } from "node:crypto"

/*
 * The read fields of the processor's objects, in the shape of its API version of late 2026: the period of a
 * subscription is on its items, and an invoice names its subscription under `parent`.
 */

export const makeStripeId = (prefix: string) => `${prefix}_${randomBytes(12).toString("hex")}`

export type StripeMetadata = Record<string, string>

interface StripeList<A> {
  readonly object: "list"
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
  readonly url: string
}
export const makeList = <A>(url: string, data: ReadonlyArray<A>): StripeList<A> => ({
  object: "list",
  data,
  has_more: false,
  url
})

export interface StripeCustomer {
  readonly id: string
  readonly object: "customer"
  readonly created: number
  readonly livemode: false
  email: string | null
  name: string | null
  metadata: StripeMetadata
  invoice_settings: { default_payment_method: string | null }
  deleted?: true
}

export interface StripePaymentMethod {
  readonly id: string
  readonly object: "payment_method"
  readonly type: "card"
  readonly created: number
  readonly livemode: false
  readonly customer: string
  readonly card: {
    readonly brand: "visa"
    readonly last4: string
    readonly exp_month: number
    readonly exp_year: number
  }
}

export interface StripePrice {
  readonly id: string
  readonly object: "price"
  readonly active: true
  readonly created: number
  readonly livemode: false
  readonly currency: string
  readonly product: string
  readonly unit_amount: number
  readonly type: "one_time" | "recurring"
  readonly recurring: { readonly interval: string; readonly interval_count: 1 } | null
  readonly metadata: StripeMetadata
}

export interface StripeCheckoutSession {
  readonly id: string
  readonly object: "checkout.session"
  readonly created: number
  readonly expires_at: number
  readonly livemode: false
  readonly mode: "payment" | "subscription"
  readonly amount_subtotal: number
  readonly amount_total: number
  readonly currency: string
  readonly client_reference_id: string | null
  readonly success_url: string
  readonly cancel_url: string | null
  readonly metadata: StripeMetadata
  readonly customer_email: string | null
  readonly ui_mode: "hosted_page"
  customer: string | null
  customer_details: { readonly email: string | null; readonly name: string | null } | null
  status: "open" | "complete" | "expired"
  payment_status: "unpaid" | "paid" | "no_payment_required"
  payment_intent: string | null
  subscription: string | null
  invoice: string | null
  url: string | null
}

export interface StripePaymentIntent {
  readonly id: string
  readonly object: "payment_intent"
  readonly created: number
  readonly livemode: false
  readonly amount: number
  readonly currency: string
  readonly customer: string | null
  readonly description: string | null
  readonly metadata: StripeMetadata
  readonly client_secret: string
  amount_received: number
  payment_method: string | null
  latest_charge: string | null
  status: "requires_payment_method" | "requires_confirmation" | "processing" | "succeeded" | "canceled"
}

export interface StripeSubscriptionItem {
  readonly id: string
  readonly object: "subscription_item"
  readonly created: number
  readonly subscription: string
  readonly quantity: 1
  current_period_start: number
  current_period_end: number
  price: StripePrice
}

export interface StripeSubscription {
  readonly id: string
  readonly object: "subscription"
  readonly created: number
  readonly livemode: false
  readonly currency: string
  readonly customer: string
  readonly items: StripeList<StripeSubscriptionItem>
  metadata: StripeMetadata
  status: "active" | "past_due" | "unpaid" | "canceled" | "incomplete" | "incomplete_expired" | "trialing" | "paused"
  default_payment_method: string | null
  latest_invoice: string | null
  cancel_at_period_end: boolean
  schedule: string | null
  canceled_at: number | null
  ended_at: number | null
}

/** A change of a subscription at the end of its period. */
export interface StripeSchedule {
  readonly id: string
  readonly object: "subscription_schedule"
  readonly subscription: string
  next: { readonly price: StripePrice; readonly metadata: StripeMetadata } | null
}

export interface StripeInvoice {
  readonly id: string
  readonly object: "invoice"
  readonly created: number
  readonly livemode: false
  readonly billing_reason: "subscription_create" | "subscription_cycle" | "subscription_update"
  readonly currency: string
  readonly customer: string
  readonly customer_email: string | null
  readonly metadata: StripeMetadata
  readonly parent: {
    readonly type: "subscription_details"
    readonly quote_details: null
    readonly subscription_details: { readonly subscription: string; readonly metadata: StripeMetadata }
  }
  readonly lines: StripeList<{
    readonly id: string
    readonly object: "line_item"
    readonly amount: number
    readonly currency: string
    readonly period: { readonly start: number; readonly end: number }
    readonly pricing: {
      readonly type: "price_details"
      readonly price_details: { readonly price: string; readonly product: string }
      readonly unit_amount_decimal: string
    }
  }>
  readonly amount_due: number
  readonly amount_paid: number
  readonly total: number
  readonly attempt_count: number
  readonly status: "paid" | "open"
}

/** The object of an event at that time. */
export type StripeEventObject = StripeCheckoutSession | StripeSubscription | StripeInvoice | StripePaymentIntent

export interface StripeEvent {
  readonly id: string
  readonly object: "event"
  readonly api_version: string
  readonly created: number
  readonly livemode: false
  readonly pending_webhooks: number
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null }
  readonly type: string
  readonly data: { readonly object: StripeEventObject }
}

/** The processor's error response. */
export class StripeApiError extends Error {
  readonly status: number
  readonly error: Readonly<Record<string, unknown>>
  constructor(status: number, error: Readonly<Record<string, unknown>> & { readonly message: string }) {
    super(error.message)
    this.status = status
    this.error = error
  }
}

const invalid = (status: number, message: string, rest: Readonly<Record<string, unknown>> = {}) =>
  new StripeApiError(status, { type: "invalid_request_error", message, ...rest })

export const missingParameter = (param: string) =>
  invalid(400, `Missing required param: ${param}.`, { code: "parameter_missing", param })
export const invalidParameter = (message: string, param?: string) =>
  invalid(400, message, param === undefined ? {} : { param })
/** Unknown ids are 404 in the path and 400 in parameters. */
export const unknownId = (what: string, id: string, param: string, status = 404) =>
  invalid(status, `No such ${what}: '${id}'`, { code: "resource_missing", param })
export const makeCardError = (code: string, declineCode: string, intent: StripePaymentIntent | null) =>
  new StripeApiError(402, {
    type: "card_error",
    code,
    decline_code: declineCode,
    message:
      code === "card_declined"
        ? "Your card was declined."
        : "Your card was declined. This transaction requires authentication.",
    ...(intent === null ? {} : { payment_intent: intent })
  })
