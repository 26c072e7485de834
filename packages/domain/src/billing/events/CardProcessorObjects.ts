import { Schema } from "effect"

/* Objects of card events, in all supported API versions. Absent members equal null. */

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true, as: "Option" })

const reference = Schema.Union(Schema.String, Schema.Struct({ id: Schema.String })).pipe(
  Schema.transform(Schema.String, {
    strict: true,
    decode: (value) => (typeof value === "string" ? value : value.id),
    encode: (id) => id
  })
)

const metadata = Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), {
  nullable: true,
  default: () => ({})
})

const list = <A, I>(item: Schema.Schema<A, I>) => maybe(Schema.Struct({ data: Schema.Array(item) }))

export const PriceObject = Schema.Struct({
  id: maybe(Schema.String),
  unit_amount: maybe(Schema.Number),
  currency: maybe(Schema.String)
})
export type PriceObject = typeof PriceObject.Type

const priced = { price: maybe(PriceObject) }

export const CheckoutSessionObject = Schema.Struct({
  id: Schema.String,
  mode: maybe(Schema.String),
  /** Absent in API versions that complete a session only after payment. */
  payment_status: maybe(Schema.String),
  customer: maybe(reference),
  subscription: maybe(reference),
  payment_intent: maybe(reference),
  invoice: maybe(reference),
  client_reference_id: maybe(Schema.String),
  customer_email: maybe(Schema.String),
  customer_details: maybe(Schema.Struct({ email: maybe(Schema.String) })),
  amount_total: maybe(Schema.Number),
  currency: maybe(Schema.String),
  line_items: list(Schema.Struct(priced)),
  metadata
})
export type CheckoutSessionObject = typeof CheckoutSessionObject.Type

export const SubscriptionObject = Schema.Struct({
  id: Schema.String,
  status: maybe(Schema.String),
  customer: maybe(reference),
  created: maybe(Schema.Int),
  /** Only in older API versions; newer ones have it in the items. */
  current_period_end: maybe(Schema.Int),
  items: list(Schema.Struct({ ...priced, current_period_end: maybe(Schema.Int) })),
  metadata
})
export type SubscriptionObject = typeof SubscriptionObject.Type

export const Charge = Schema.Struct({
  id: Schema.String,
  payment_intent: maybe(reference),
  invoice: maybe(reference),
  /** Sum of all refunds. */
  amount_refunded: Schema.NonNegativeInt.pipe(Schema.brand("MinorUnits"))
})
export type Charge = typeof Charge.Type

export const Dispute = Schema.Struct({
  id: Schema.String,
  charge: reference,
  payment_intent: maybe(reference),
  amount: Schema.NonNegativeInt.pipe(Schema.brand("MinorUnits")),
  status: Schema.String
})
export type Dispute = typeof Dispute.Type

const detailsOfSubscription = Schema.Struct({ subscription: maybe(reference), metadata })

export const InvoiceObject = Schema.Struct({
  id: maybe(Schema.String),
  customer: maybe(reference),
  customer_email: maybe(Schema.String),
  /** Only in older API versions; newer ones have it in `parent`. */
  subscription: maybe(reference),
  subscription_details: maybe(detailsOfSubscription),
  parent: maybe(Schema.Struct({ subscription_details: maybe(detailsOfSubscription) })),
  payment_intent: maybe(reference),
  payments: list(Schema.Struct({ payment: maybe(Schema.Struct({ payment_intent: maybe(reference) })) })),
  amount_paid: maybe(Schema.Number),
  currency: maybe(Schema.String),
  metadata
})
export type InvoiceObject = typeof InvoiceObject.Type
