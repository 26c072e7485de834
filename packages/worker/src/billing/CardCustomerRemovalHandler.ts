import { CardProcessor, CardSubscriptionId, type CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"
import { RemoveCardCustomersJob } from "@berth/domain/billing/checkout/CardCustomerJobs"

/** Ends the subscriptions of customers whose account is gone, and their cards with them. Doing it again changes nothing. */
export const handleCardCustomerRemoval = Effect.fn("CardCustomerRemovalHandler.handle")(function* (job: RunningJob) {
  const { customerIds } = yield* Effect.mapError(
    Schema.decodeUnknown(RemoveCardCustomersJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${RemoveCardCustomersJob.name}: ${message}` })
  )
  const processor = yield* CardProcessor
  // Events without a customer name the subscription in its place.
  const forget = (id: CustomerId) =>
    id.startsWith("sub_") ? processor.cancelSubscription(CardSubscriptionId.make(id)) : processor.removeCustomer(id)
  yield* Effect.forEach(customerIds, forget, { discard: true })
})
