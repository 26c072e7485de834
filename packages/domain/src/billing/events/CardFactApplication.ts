import { Option } from "effect"
import type { CardFact, CreditPurchase } from "./CardFact.ts"
import { mergeSubscriptionFacts, pickNewest, type TimedValue, type SubscriptionFacts } from "./SubscriptionFacts.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface CardPayer {
  readonly id: string
  readonly user: TimedValue<UserId>
}

export interface RecordedSubscription {
  readonly id: string
  readonly payer: string
  readonly userId: UserId
  readonly facts: SubscriptionFacts
}

/** Stored records that a fact affects. */
export interface CardRecords {
  readonly payer: Option.Option<CardPayer>
  /** Subscriptions of the payer, and the fact's own subscription. */
  readonly subscriptions: ReadonlyArray<RecordedSubscription>
  /** Id under which the fact's credits are booked. */
  readonly bookedAs: Option.Option<string>
}

/** Users identified by the metadata and the address of a fact. */
export interface CardUserMatch {
  readonly byId: Option.Option<UserId>
  readonly byEmail: Option.Option<UserId>
}

export interface CardCreditBooking extends CreditPurchase {
  readonly userId: UserId
  /** First known id of the purchase, under which it is booked. */
  readonly cause: string
}

export interface AppliedCardFact {
  readonly userId: UserId
  readonly payer: Option.Option<CardPayer>
  /** Changed subscriptions. */
  readonly subscriptions: ReadonlyArray<RecordedSubscription>
  readonly booking: Option.Option<CardCreditBooking>
  /** Further processor ids of the booking `cause`. */
  readonly names: Option.Option<Pick<CardCreditBooking, "names" | "cause" | "userId">>
  /** Current and former owners of the changed subscriptions. */
  readonly users: ReadonlyArray<UserId>
  /** Ids of unmatched events' payers that now have a user. */
  readonly nowKnown: ReadonlyArray<string>
}

// The metadata of Berth's checkout is certain; an address is a guess, since people have several.
const named = 2
const guessed = 1

const signOf = (fact: CardFact, { byEmail, byId }: CardUserMatch): TimedValue<UserId> | null => {
  const at =
    (strength: number) =>
    (value: UserId): TimedValue<UserId> => ({ value, moment: { ...fact.moment, strength } })
  return Option.getOrNull(Option.orElse(Option.map(byId, at(named)), () => Option.map(byEmail, at(guessed))))
}

/**
 * Applies a fact to the records; none without a known user. Idempotent and order-independent: the newest value of each
 * kind wins, ordered by the facts' moments.
 */
export const applyCardFact = (
  books: CardRecords,
  fact: CardFact,
  signs: CardUserMatch
): Option.Option<AppliedCardFact> => {
  const payer = pickNewest(Option.getOrNull(Option.map(books.payer, ({ user }) => user)), signOf(fact, signs))
  const reported = Option.map(fact.subscription, ({ facts, id }): Omit<RecordedSubscription, "userId"> & Owned => {
    const owner = Option.getOrNull(
      Option.map(signs.byId, (value): TimedValue<UserId> => ({ value, moment: { ...fact.moment, strength: named } }))
    )
    const before = books.subscriptions.find((subscription) => subscription.id === id)
    const reported = { ...facts, owner }
    return {
      id,
      // A fact without a customer is stored under its own id until the customer is known.
      payer: before !== undefined && fact.payer === id ? before.payer : fact.payer,
      facts: before === undefined ? reported : mergeSubscriptionFacts(before.facts, reported),
      before
    }
  })
  const owner = Option.match(reported, {
    onNone: () => Option.orElse(signs.byId, () => Option.fromNullable(payer?.value)),
    onSome: ({ before, facts }) => Option.fromNullable(facts.owner?.value ?? payer?.value ?? before?.userId)
  })
  return Option.map(owner, (userId) => {
    const owned = Option.match(reported, {
      onNone: (): ReadonlyArray<RecordedSubscription> => [],
      onSome: ({ facts, id, payer: by }) => [{ id, payer: by, facts, userId }]
    })
    // Subscriptions without an owner in their metadata follow the payer's user.
    const moved =
      payer === null
        ? []
        : books.subscriptions
            .filter(
              (subscription) => subscription.payer === fact.payer && !owned.some(({ id }) => id === subscription.id)
            )
            .filter((subscription) => subscription.facts.owner === null && subscription.userId !== payer.value)
            .map((subscription) => ({ ...subscription, userId: payer.value }))
    const changed = [...owned, ...moved]
    const before = changed.flatMap(({ id }) => books.subscriptions.filter((subscription) => subscription.id === id))
    const booking = Option.map(fact.credits, (credits) => ({
      ...credits,
      userId,
      cause: Option.getOrElse(books.bookedAs, () => credits.names[0])
    }))
    const month = Option.map(fact.invoice, ({ id, payments }) => ({
      names: [id, ...payments] as const,
      cause: id,
      userId
    }))
    return {
      userId,
      payer: payer === null ? Option.none() : Option.some({ id: fact.payer, user: payer }),
      subscriptions: changed,
      booking,
      names: Option.orElse(booking, () => month),
      nowKnown: [
        ...(payer === null || Option.exists(books.payer, ({ user }) => user.value === payer.value) ? [] : [fact.payer]),
        ...owned.flatMap(({ id }) => (books.subscriptions.some((subscription) => subscription.id === id) ? [] : [id]))
      ],
      users: [...new Set([...before, ...changed].map((subscription) => subscription.userId))].toSorted()
    }
  })
}

interface Owned {
  readonly before: RecordedSubscription | undefined
}
