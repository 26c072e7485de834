import { Effect, Redacted, Schema } from "effect"
import type { User } from "../../shared/User.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { CardCustomerRepository } from "./CardCustomerRepository.ts"
import { CardProcessor, CustomerId } from "./CardProcessor.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import type { Currency } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"
import { defineJob } from "../../jobs/JobKind.ts"

/**
 * Deletes the processor's customers of a deleted account. The payload names the customers, since the account no longer
 * exists.
 */
export const RemoveCardCustomersJob = defineJob({
  queue: "tasks",
  name: "forget-card-customers",
  payload: Schema.Struct({ customerIds: Schema.Array(CustomerId) })
})

/** Customers at the card processor, which allows one subscription currency per customer. */
export class CardCustomers extends Effect.Service<CardCustomers>()("@berth/CardCustomers", {
  effect: Effect.gen(function* () {
    const repository = yield* CardCustomerRepository
    const processor = yield* CardProcessor
    const digests = yield* Digests
    const outbox = yield* Outbox

    const listByUser = repository.listByUser

    /** Appends the job that ends all payments for a deleted account. Joins the running transaction. */
    const scheduleRemoval = Effect.fn("CardCustomers.scheduleRemoval")(function* (userId: UserId) {
      const customerIds = yield* repository.listPayingFor(userId)
      if (customerIds.length > 0) yield* outbox.append(RemoveCardCustomersJob, { customerIds })
    })

    const create = (user: User, currency: Currency, name: string) =>
      processor.createCustomer({
        userId: user.id,
        email: user.email,
        currency,
        // The address is part of the key, since a changed address makes a different request.
        idempotencyKey: `customer-${hashSecret(digests, Redacted.make(`${name} ${currency} ${user.email}`))}`
      })

    /** Returns the user's customer for a currency; creates it if absent. Idempotent under concurrency. */
    const ensure = Effect.fn("CardCustomers.ensure")(function* (user: User, currency: Currency) {
      const existing = (yield* repository.listByUser(user.id)).find((customer) => customer.currency === currency)
      if (existing !== undefined) return existing.customerId
      const customerId = yield* create(user, currency, user.id)
      return yield* repository.add(user.id, { customerId, currency })
    })

    /** Replaces a customer that is absent at the card processor. Concurrent calls create one customer. */
    const replace = Effect.fn("CardCustomers.replace")(function* (
      user: User,
      currency: Currency,
      absentId: CustomerId
    ) {
      const customerId = yield* create(user, currency, `${user.id} ${absentId}`)
      return yield* repository.replace(user.id, absentId, { customerId, currency })
    })

    return { listByUser, scheduleRemoval, ensure, replace }
  })
}) {}
