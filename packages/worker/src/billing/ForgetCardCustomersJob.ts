import { CardProcessor, CardSubscriptionId, type CustomerId } from "@berth/domain/billing/CardProcessor"
import { ForgetCardCustomers } from "@berth/domain/jobs/Job"
import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"

/** Ends the subscriptions of customers whose account is gone, and their cards with them. Doing it again changes nothing. */
export const forgetCardCustomers = Effect.fn("ForgetCardCustomersJob")(function* (job: RunningJob) {
  const { customerIds } = yield* Effect.mapError(
    Schema.decodeUnknown(ForgetCardCustomers.payload)(job.payload),
    ({ message }) => new JobIsHopeless({ reason: `the payload is not that of ${ForgetCardCustomers.name}: ${message}` })
  )
  const processor = yield* CardProcessor
  // Events without a customer name the subscription in its place.
  const forget = (id: CustomerId) =>
    id.startsWith("sub_") ? processor.cancelSubscription(CardSubscriptionId.make(id)) : processor.removeCustomer(id)
  yield* Effect.forEach(customerIds, forget, { discard: true })
})
