import type { IncomingHttpHeaders } from "node:http"
import type { StripeState } from "./StripeState.ts"
import { type StripeForm, parseStripeForm, findText } from "./StripeForm.ts"
import {
  invalidParameter,
  makeList,
  missingParameter,
  makeStripeId,
  StripeApiError,
  unknownId
} from "./StripeObjects.ts"

export interface StripeRequest {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

type Handler = (form: StripeForm, id: string) => unknown

const acceptedParameters: Readonly<Record<string, ReadonlySet<string>>> = {
  "POST /v1/checkout/sessions": new Set(
    "mode,line_items,success_url,cancel_url,customer,customer_email,client_reference_id,metadata,subscription_data,payment_intent_data,expires_at,payment_method_types,allow_promotion_codes,customer_creation,invoice_creation,saved_payment_method_options,billing_address_collection".split(
      ","
    )
  ),
  "POST /v1/payment_intents": new Set(
    "amount,currency,customer,payment_method,payment_method_types,confirm,off_session,description,metadata,automatic_payment_methods,receipt_email,statement_descriptor_suffix,setup_future_usage,expand".split(
      ","
    )
  ),
  "POST /v1/customers": new Set("email,name,metadata,description,invoice_settings,payment_method".split(","))
}

/** Handles one API call. Fails with a `Refusal`. */
export const findStripeHandler = (books: StripeState, origin: string) => {
  const newest = <A extends { readonly created: number }>(all: Iterable<A>) => [...all].toReversed()
  const found = <A>(map: ReadonlyMap<string, A>, what: string, id: string): A => {
    const one = map.get(id)
    if (one === undefined) throw unknownId(what, id, "id")
    return one
  }
  const ofCustomer = <A extends { readonly customer: string | null; readonly created: number }>(
    form: StripeForm,
    all: Iterable<A>
  ) => {
    const customer = findText(form, "customer")
    return newest(all).filter((one) => customer === null || one.customer === customer)
  }

  const routes: Readonly<Record<string, Handler>> = {
    "GET /v1/customers": (form) =>
      makeList(
        "/v1/customers",
        newest(books.customers.values()).filter(
          ({ email }) => findText(form, "email") === null || email === findText(form, "email")
        )
      ),
    "POST /v1/customers": books.createCustomer,
    "GET /v1/customers/:id": (_, id) => books.customer(id),
    "POST /v1/customers/:id": (form, id) => books.updateCustomer(id, form),
    "DELETE /v1/customers/:id": (_, id) => books.deleteCustomer(id),
    "GET /v1/customers/:id/payment_methods": (_, id) =>
      makeList(`/v1/customers/${id}/payment_methods`, books.methodsOf(books.customer(id).id)),
    "POST /v1/prices": (form) => books.priceFrom(form, "price"),
    "GET /v1/prices/:id": (_, id) => found(books.prices, "price", id),
    "POST /v1/checkout/sessions": books.createSession,
    "GET /v1/checkout/sessions": (form) =>
      makeList(
        "/v1/checkout/sessions",
        ofCustomer(
          form,
          [...books.sessions.values()].map(({ object }) => object)
        ).filter(({ status }) => findText(form, "status") === null || findText(form, "status") === status)
      ),
    "GET /v1/checkout/sessions/:id": (_, id) => books.session(id).object,
    "POST /v1/checkout/sessions/:id/expire": (_, id) => books.expireSession(id),
    "POST /v1/payment_intents": books.createIntent,
    "GET /v1/payment_intents": (form) => makeList("/v1/payment_intents", ofCustomer(form, books.intents.values())),
    "GET /v1/payment_intents/:id": (_, id) => found(books.intents, "payment_intent", id),
    "GET /v1/subscriptions": (form) => {
      const status = findText(form, "status")
      return makeList(
        "/v1/subscriptions",
        ofCustomer(form, books.subscriptions.values()).filter((one) =>
          status === "all" ? true : status === null ? one.status !== "canceled" : one.status === status
        )
      )
    },
    "GET /v1/subscriptions/:id": (_, id) => books.subscription(id),
    "POST /v1/subscriptions/:id": (form, id) => books.updateSubscription(id, form),
    "DELETE /v1/subscriptions/:id": (_, id) => books.cancelSubscription(id),
    "POST /v1/subscription_schedules": books.createSchedule,
    "POST /v1/subscription_schedules/:id": (form, id) => books.updateSchedule(id, form),
    "POST /v1/subscription_schedules/:id/release": (_, id) => books.releaseSchedule(id),
    "GET /v1/invoices/:id": (_, id) => found(books.invoices, "invoice", id),
    "GET /v1/events": () => makeList("/v1/events", newest(books.events)),
    "GET /v1/events/:id": (_, id) => {
      const one = books.events.find((event) => event.id === id)
      if (one === undefined) throw unknownId("event", id, "id")
      return one
    },
    "POST /v1/billing_portal/sessions": (form) => {
      const customer = findText(form, "customer")
      if (customer === null) throw missingParameter("customer")
      if (!books.customers.has(customer)) throw unknownId("customer", customer, "customer", 400)
      const id = makeStripeId("bps")
      return {
        id,
        object: "billing_portal.session",
        livemode: false,
        customer,
        return_url: findText(form, "return_url"),
        url: `${origin}/p/session/${id}`
      }
    }
  }

  const patterns = Object.entries(routes).map(([name, handler]) => ({
    name,
    handler,
    pattern: new RegExp(`^${name.replace(":id", "([^/]+)")}/?$`)
  }))

  return (call: StripeRequest, query: URLSearchParams): unknown => {
    const form = parseStripeForm(call.method === "POST" ? call.body : query.toString())
    for (const { handler, name, pattern } of patterns) {
      const match = pattern.exec(`${call.method} ${call.path}`)
      if (match === null) continue
      const known = acceptedParameters[name]
      const stranger = known === undefined ? undefined : Object.keys(form).find((key) => !known.has(key))
      if (stranger !== undefined) throw invalidParameter(`Received unknown parameter: ${stranger}`, stranger)
      return handler(form, decodeURIComponent(match[1] ?? ""))
    }
    throw new StripeApiError(404, {
      type: "invalid_request_error",
      message: `Unrecognized request URL (${call.method}: ${call.path}).`
    })
  }
}
