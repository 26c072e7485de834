import { WebApi } from "@berth/api/WebApi"
import { CardEventInbox } from "@berth/domain/billing/events/CardEventInbox"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

/** The specification's header, and the card processor's header. */
const signatureHeaders = ["cardprocessor-signature", "stripe-signature"] as const

export const layer = group(WebApi, "webhooks", (handlers) =>
  Effect.map(CardEventInbox, (inbox) =>
    handlers.handleRaw("receiveCardEvent", ({ request }) =>
      Effect.gen(function* () {
        const header = signatureHeaders.map((name) => request.headers[name]).find((value) => value !== undefined)
        // The pipeline has read the whole body.
        const body = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
        yield* inbox.receive(header, body)
        return { received: true as const }
      })
    )
  )
)
