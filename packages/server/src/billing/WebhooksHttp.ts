import { WebApi } from "@berth/api/WebApi"
import { CardEventInbox } from "@berth/domain/billing/events/CardEventInbox"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"

/** The specification's header, and the card processor's header. */
const signatureHeaders = ["cardprocessor-signature", "stripe-signature"] as const

export const layer = HttpApiBuilder.group(WebApi, "webhooks", (handlers) =>
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
