import {
  PaidResources,
  PaidResourceUnavailable,
  ResourceAnswer,
  type ResourceRequest
} from "@berth/domain/wallets/payments/PaidResources"
import { Duration, Effect, Layer } from "effect"
import { OutboundClient } from "../net/OutboundClient.ts"
import { readOffer } from "./X402Messages.ts"

/** On-chain settlement takes some seconds. */
const timeout = Duration.seconds(30)
const maximumBytes = 64 * 1024
/** Maximum characters passed to the model. */
const maximumText = 16_000

const single = (value: string | ReadonlyArray<string> | undefined) => (typeof value === "string" ? value : undefined)

/** Headers of both protocol versions; each service reads its own. */
const paymentHeaders = (payment: string | undefined): Readonly<Record<string, string>> =>
  payment === undefined ? {} : { "x-payment": payment, "payment-signature": payment }

export const layer = Layer.effect(
  PaidResources,
  Effect.map(OutboundClient, (client) =>
    PaidResources.of({
      request: Effect.fn("PaidResources.request")(function* ({ body, method, url }: ResourceRequest, payment?: string) {
        const {
          body: received,
          headers,
          isComplete,
          status
        } = yield* client
          .send({
            method,
            url,
            headers: {
              accept: "*/*",
              ...(body === null ? {} : { "content-type": "application/json" }),
              ...paymentHeaders(payment)
            },
            ...(body === null ? {} : { body }),
            timeout,
            maximumBytes
          })
          .pipe(Effect.mapError(({ message }) => new PaidResourceUnavailable({ reason: `No answer: ${message}.` })))
        const text = received.toString("utf8").slice(0, maximumText)
        if (status >= 300 && status < 400)
          return yield* new PaidResourceUnavailable({ reason: "The service redirects, which is not followed." })
        if (status !== 402) return ResourceAnswer.Content({ status, text })
        const offer = isComplete ? readOffer(single(headers["payment-required"]), received.toString("utf8")) : null
        return ResourceAnswer.PaymentRequired({ offer, text })
      })
    })
  )
)
