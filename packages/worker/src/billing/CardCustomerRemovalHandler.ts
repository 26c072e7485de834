import { RemoveCardCustomersJob } from "@berth/domain/billing/checkout/CardCustomerJobs"
import { CardProcessor, CardSubscriptionId, type CustomerId } from "@berth/domain/billing/checkout/CardProcessor"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Ends the subscriptions and removes the cards of customers whose account was deleted. */
export const cardCustomerRemovalHandler = jobHandler(RemoveCardCustomersJob, ({ customerIds }) =>
  Effect.flatMap(CardProcessor, (processor) => {
    // Events without a customer name the subscription.
    const remove = (id: CustomerId) =>
      id.startsWith("sub_") ? processor.cancelSubscription(CardSubscriptionId.make(id)) : processor.removeCustomer(id)
    return Effect.forEach(customerIds, remove, { discard: true })
  })
)
