import { makeCardEvent, signCardEvent } from "../../support/billing/CardEventRequests.ts"
import type { ErrorRow } from "../ErrorRow.ts"

const route = "POST /api/webhooks/cardProcessor"
const event = JSON.stringify(makeCardEvent("invoice.payment_failed", { id: "in_1", subscription: "sub_1" }))
const now = () => Math.floor(Date.now() / 1000)

const unsigned = (when: string, headers: () => Readonly<Record<string, string>>): ErrorRow => ({
  when,
  route,
  call: () => ({ body: event, headers: { "content-type": "application/json", ...headers() } }),
  status: 400,
  code: "signature_invalid"
})

const malformed = (when: string, body: string): ErrorRow => ({
  when,
  route,
  call: () => ({
    body,
    headers: { "content-type": "application/json", "cardprocessor-signature": signCardEvent(body) }
  }),
  status: 400,
  code: "card_event_malformed"
})

const endpoints = "POST /api/webhooks/endpoints"
const subscription = (
  when: string,
  json: unknown,
  status: number,
  code: string,
  fields?: ReadonlyArray<string>
): ErrorRow => ({
  when,
  route: endpoints,
  call: ({ owner }) => ({ as: owner, json }),
  status,
  code,
  ...(fields === undefined ? {} : { fields })
})
const subscribed = { url: "https://receiver.example/", events: ["agent.status"] }

const ofEndpoint = [
  "DELETE /api/webhooks/endpoints/:id",
  "POST /api/webhooks/endpoints/:id/rotate-secret",
  "POST /api/webhooks/endpoints/:id/enable",
  "GET /api/webhooks/endpoints/:id/deliveries",
  "POST /api/webhooks/endpoints/:id/replay"
] as const

const endpointRows: ReadonlyArray<ErrorRow> = [
  ...(["GET /api/webhooks/endpoints", endpoints, ...ofEndpoint] as const).map((name): ErrorRow => ({
    when: "nobody is signed in",
    route: name,
    call: () => ({ path: name.replace(/^\w+ /, "").replace(":id", "whe_0") }),
    status: 401,
    code: "unauthorized"
  })),
  ...ofEndpoint.map((name): ErrorRow => ({
    when: "there is no such endpoint",
    route: name,
    call: ({ owner }) => ({ as: owner, path: name.replace(/^\w+ /, "").replace(":id", "whe_0") }),
    status: 404,
    code: "webhook_endpoint_not_found"
  })),
  subscription("nothing is given", {}, 400, "invalid_request", ["url", "events"]),
  subscription("there is no event", { ...subscribed, events: [] }, 400, "invalid_request", ["events"]),
  subscription("the event is unknown", { ...subscribed, events: ["x"] }, 400, "invalid_request", ["events.0"]),
  subscription("the address is none", { ...subscribed, url: "receiver" }, 400, "webhook_url_invalid"),
  subscription(
    "the address has a password",
    { ...subscribed, url: "https://a:b@c.example" },
    400,
    "webhook_url_invalid"
  ),
  subscription(
    "the event is for administrators",
    { ...subscribed, events: ["user.created"] },
    403,
    "account_events_not_allowed"
  )
]

export const webhookRows: ReadonlyArray<ErrorRow> = [
  ...endpointRows,
  unsigned("nobody has signed it", () => ({})),
  unsigned("the signature is none", () => ({ "cardprocessor-signature": "signed" })),
  unsigned("somebody else has signed it", () => ({
    "cardprocessor-signature": signCardEvent(event, now(), "whsec_other")
  })),
  unsigned("it was signed for other bytes", () => ({ "cardprocessor-signature": signCardEvent(`${event} `) })),
  unsigned("it was signed too long ago", () => ({ "cardprocessor-signature": signCardEvent(event, now() - 400) })),
  unsigned("it was signed in the future", () => ({ "stripe-signature": signCardEvent(event, now() + 400) })),
  malformed("it is signed and no JSON", "{bad"),
  malformed("it is signed and empty", ""),
  malformed("it is signed and no event", '{"id":"evt_1"}'),
  malformed("it is signed and has no moment", '{"id":"evt_1","type":"x","created":"now","data":{"object":{}}}')
]
