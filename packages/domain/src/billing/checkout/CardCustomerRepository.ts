import { Context, type Effect } from "effect"
import type { CustomerId } from "./CardProcessor.ts"
import type { Currency } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

/** A user as the card processor knows him, for what he pays in a currency. */
export interface CardCustomer {
  readonly customerId: CustomerId
  readonly currency: Currency
}

/** Who users are at the card processor: one customer a currency. */
export class CardCustomerRepository extends Context.Tag("@berth/CardCustomerRepository")<
  CardCustomerRepository,
  {
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<CardCustomer>>
    /** Whoever pays for the user at the card processor, also those that only its events have told of. */
    readonly listPayingFor: (userId: UserId) => Effect.Effect<ReadonlyArray<CustomerId>>
    /** Keeps a new customer, unless there is one already; answers the one that counts. */
    readonly add: (userId: UserId, customer: CardCustomer) => Effect.Effect<CustomerId>
    /** Puts a new customer in the place of `gone`, unless that is replaced already; returns the current one. */
    readonly replace: (userId: UserId, gone: CustomerId, customer: CardCustomer) => Effect.Effect<CustomerId>
  }
>() {}
