import { Context, type Effect } from "effect"
import type { CustomerId } from "./CardProcessor.ts"
import type { Currency } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The processor's customer for a user's payments in one currency. */
export interface CardCustomer {
  readonly customerId: CustomerId
  readonly currency: Currency
}

/** Customers at the card processor: one per user and currency. */
export class CardCustomerRepository extends Context.Tag("@berth/CardCustomerRepository")<
  CardCustomerRepository,
  {
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<CardCustomer>>
    /** All customers that pay for the user, including customers known only from events. */
    readonly listPayingFor: (userId: UserId) => Effect.Effect<ReadonlyArray<CustomerId>>
    /** Adds a customer unless one exists. Returns the stored customer. */
    readonly add: (userId: UserId, customer: CardCustomer) => Effect.Effect<CustomerId>
    /** Replaces `gone` unless it is already replaced. Returns the current customer. */
    readonly replace: (userId: UserId, gone: CustomerId, customer: CardCustomer) => Effect.Effect<CustomerId>
  }
>() {}
