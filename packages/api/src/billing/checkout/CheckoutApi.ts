import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Data, Schema } from "effect"
import { errorBody } from "../../http/ErrorBody.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { IdempotencyErrors } from "../../limits/IdempotencyErrors.ts"
import { SessionAuth } from "../../sessions/SessionAuth.ts"

// An invalid query shows the page with an error, so the schema accepts any query.
const anyText = Schema.optional(Schema.Union(Schema.String, Schema.Array(Schema.String)))

const leads = { status: 302 } as const

/** Without a session, redirects to the login page first. */
const plan = HttpApiEndpoint.get("plan", "/api/cardProcessor/checkout")
  .setUrlParams(Schema.Struct({ plan: anyText.annotations({ description: "solo, collective, label, network" }) }))
  .addSuccess(Schema.Void, leads)
  .annotate(OpenApi.Summary, "Start the checkout of a plan")

const credits = HttpApiEndpoint.get("credits", "/api/cardProcessor/credits")
  .setUrlParams(Schema.Struct({ price: anyText.annotations({ description: "An allowed price id" }) }))
  .addSuccess(Schema.Void, leads)
  .annotate(OpenApi.Summary, "Start the checkout of credits")

/** Payment is not configured, or the card processor created no checkout. */
export class StorageCheckoutFailed extends Data.TaggedError("StorageCheckoutFailed")<{
  readonly isConfigured: boolean
}> {}
const StorageCheckoutFailedBody = errorBody(StorageCheckoutFailed, {
  status: 500,
  error: "The checkout could not be made",
  message: ({ isConfigured }) =>
    isConfigured
      ? "The card processor made no checkout and nothing was charged. Try again in a moment."
      : "Payment is not set up on this service.",
  example: new StorageCheckoutFailed({ isConfigured: true }),
  read: () => new StorageCheckoutFailed({ isConfigured: true })
})

const storage = HttpApiEndpoint.post("storage", "/api/cardProcessor/storage-upgrade")
  .addSuccess(Schema.Struct({ url: Schema.String.annotations({ description: "Address to open for the buyer" }) }))
  .addError(StorageCheckoutFailedBody)
  .addError(IdempotencyErrors)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Purchase 50 GiB of storage for 39 GBP a month")

export class CheckoutApi extends HttpApiGroup.make("checkout")
  .add(plan)
  .add(credits)
  .add(storage)
  .addError(InternalFailureBody) {}
