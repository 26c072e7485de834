import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Data, Schema } from "effect"
import { errorBody } from "../../http/ErrorBody.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { IdempotencyErrors } from "../../limits/IdempotencyErrors.ts"
import { SessionAuth } from "../../sessions/SessionAuth.ts"

// An invalid query shows the page with an error, so the schema accepts any.
const anyText = Schema.optional(Schema.Union(Schema.String, Schema.Array(Schema.String)))

const leads = { status: 302 } as const

/** GET /api/cardProcessor/checkout: without a session, redirects to the login page first. */
const plan = HttpApiEndpoint.get("plan", "/api/cardProcessor/checkout")
  .setUrlParams(Schema.Struct({ plan: anyText.annotations({ description: "solo, collective, label, network" }) }))
  .addSuccess(Schema.Void, leads)

/** GET /api/cardProcessor/credits */
const credits = HttpApiEndpoint.get("credits", "/api/cardProcessor/credits")
  .setUrlParams(Schema.Struct({ price: anyText.annotations({ description: "A price id of the allowed ones" }) }))
  .addSuccess(Schema.Void, leads)

/** Payment is not set up, or the card processor made no checkout. */
export class StorageCheckoutFailed extends Data.TaggedError("StorageCheckoutFailed")<{
  readonly isConfigured: boolean
}> {}
export const StorageCheckoutFailedBody = errorBody(StorageCheckoutFailed, {
  status: 500,
  error: "The checkout could not be made",
  message: ({ isConfigured }) =>
    isConfigured
      ? "The card processor made no checkout and nothing was charged. Try again in a moment."
      : "Payment is not set up on this service.",
  example: new StorageCheckoutFailed({ isConfigured: true }),
  read: () => new StorageCheckoutFailed({ isConfigured: true })
})

/** POST /api/cardProcessor/storage-upgrade */
const storage = HttpApiEndpoint.post("storage", "/api/cardProcessor/storage-upgrade")
  .addSuccess(Schema.Struct({ url: Schema.String.annotations({ description: "Where to send the buyer" }) }))
  .addError(StorageCheckoutFailedBody)
  .addError(IdempotencyErrors)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "50 GB of storage for 39 GBP a month")

export class CheckoutApi extends HttpApiGroup.make("checkout")
  .add(plan)
  .add(credits)
  .add(storage)
  .addError(InternalFailureBody) {}
