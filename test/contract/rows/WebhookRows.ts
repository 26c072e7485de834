import { makeCardEvent, signCardEvent } from "../../support/billing/CardEventRequests.ts"
import type { ErrorRow } from "../ErrorRow.ts"

const route = "POST /api/webhooks/cardProcessor"
const event = JSON.stringify(makeCardEvent("invoice.payment_failed", { id: "in_1", subscription: "sub_1" }))
const now = () => Math.floor(Date.now() / 1000)

const unsigned = (when: string, headers: () => Readonly<Record<string, string>>): ErrorRow => ({
  when,
  listener: "web",
  route,
  call: () => ({ body: event, headers: { "content-type": "application/json", ...headers() } }),
  status: 400,
  code: "signature_invalid"
})

const malformed = (when: string, body: string): ErrorRow => ({
  when,
  listener: "web",
  route,
  call: () => ({
    body,
    headers: { "content-type": "application/json", "cardprocessor-signature": signCardEvent(body) }
  }),
  status: 400,
  code: "card_event_malformed"
})

export const webhookRows: ReadonlyArray<ErrorRow> = [
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
