import { Effect, Redacted } from "effect"
import type { User, UserId } from "../accounts/User.ts"
import { Tokens } from "../secrets/Tokens.ts"
import { CardCustomerRepository } from "./CardCustomerRepository.ts"
import { CardProcessor, type CustomerId } from "./CardProcessor.ts"
import type { Currency } from "./Money.ts"

/** Who users are at the card processor, which takes one currency a customer for what is paid monthly. */
export class CardCustomers extends Effect.Service<CardCustomers>()("@berth/CardCustomers", {
  effect: Effect.gen(function* () {
    const repository = yield* CardCustomerRepository
    const processor = yield* CardProcessor
    const tokens = yield* Tokens

    const of = Effect.fn("CardCustomers.of")(function* (userId: UserId) {
      return yield* repository.listOf(userId)
    })

    /** Whoever is charged for the user, however we know of him. */
    const payingFor = Effect.fn("CardCustomers.payingFor")(function* (userId: UserId) {
      return yield* repository.payingFor(userId)
    })

    const create = (user: User, currency: Currency, name: string) =>
      processor.createCustomer({
        userId: user.id,
        email: user.email,
        currency,
        // The address belongs to what is asked for: with another one it is another request.
        idempotencyKey: `customer-${tokens.hash(Redacted.make(`${name} ${currency} ${user.email}`))}`
      })

    /** The user's customer for a currency, made if there is none. Any number at once make one. */
    const ensure = Effect.fn("CardCustomers.ensure")(function* (user: User, currency: Currency) {
      const known = (yield* repository.listOf(user.id)).find((one) => one.currency === currency)
      if (known !== undefined) return known.customerId
      const customerId = yield* create(user, currency, user.id)
      return yield* repository.add(user.id, { customerId, currency })
    })

    /** A new customer in the place of one that is gone at the card processor. Concurrent calls make one. */
    const replace = Effect.fn("CardCustomers.replace")(function* (user: User, currency: Currency, gone: CustomerId) {
      const customerId = yield* create(user, currency, `${user.id} ${gone}`)
      return yield* repository.replace(user.id, gone, { customerId, currency })
    })

    return { of, payingFor, ensure, replace }
  })
}) {}
