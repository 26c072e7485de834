import type { PaymentRequiredFields } from "@berth/api/gateway/GatewayErrorBodies"
import type { Challenge } from "@berth/domain/gateway/payments/Challenge"
import { makeChallengeBody, formatChallengeHeader } from "@berth/domain/gateway/payments/ChallengeMessage"
import type { PaymentFailure } from "@berth/domain/gateway/payments/PaymentFailure"
import type { PluginInput } from "@berth/domain/gateway/PluginInput"
import { countInputShares } from "@berth/domain/gateway/calls/PluginPrices"
import { HttpServerResponse } from "@effect/platform"

/** Where units and credits are bought. */
const pricingPath = "/pricing"
const required = { code: "payment_required" } as const

/** How a call is paid by card. */
export const makeCardCheckout = (
  appUrl: URL,
  input: PluginInput,
  price: number
): PaymentRequiredFields["cardProcessor"] => ({
  checkoutUrl: new URL(pricingPath, appUrl).href,
  amount: Number((price * countInputShares(input)).toFixed(6)),
  currency: "usd"
})

const uncached = { "cache-control": "no-store" }

const respond = (body: PaymentRequiredFields, status: 400 | 402, headers: Readonly<Record<string, string>>) =>
  HttpServerResponse.unsafeJson(body, { status, headers: { ...uncached, ...headers } })

/** Nothing, or nothing that counts, was shown as payment: what is asked for, whole for every client. */
export const respondUnpaid = (
  cardProcessor: PaymentRequiredFields["cardProcessor"],
  { challenge, failure }: { readonly challenge: Challenge; readonly failure: PaymentFailure }
) => {
  const body = makeChallengeBody(challenge, failure)
  return respond({ ...body, ...required, cardProcessor }, body.status, {
    "www-authenticate": formatChallengeHeader(challenge)
  })
}

const message =
  "Today's units are used up and there are no credits. Units come back at midnight UTC; credits can be bought."

/** Neither units nor credits are left: they can be bought, or, unless the caller wants to pay by card, a machine may pay. */
export const respondUnitsExhausted = (
  cardProcessor: PaymentRequiredFields["cardProcessor"],
  challenge: Challenge | undefined
) =>
  challenge === undefined
    ? respond({ error: "payment_required", message, ...required, cardProcessor }, 402, {})
    : respond({ ...makeChallengeBody(challenge, "no credential"), message, ...required, cardProcessor }, 402, {
        "www-authenticate": formatChallengeHeader(challenge)
      })
