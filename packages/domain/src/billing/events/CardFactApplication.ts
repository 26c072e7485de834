import { Option } from "effect"
import type { CardFact, CreditPurchase } from "./CardFact.ts"
import { mergeSubscriptionFacts, pickNewest, type TimedValue, type SubscriptionFacts } from "./SubscriptionFacts.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Who pays at the card processor, and whom he was found to be. */
export interface Payer {
  readonly id: string
  readonly user: TimedValue<UserId>
}

/** A subscription at the card processor. */
export interface RecordedSubscription {
  readonly id: string
  readonly payer: string
  readonly userId: UserId
  readonly facts: SubscriptionFacts
}

/** What is on record of whatever a fact is about. */
export interface CardRecords {
  readonly payer: Option.Option<Payer>
  /** Those of the payer, and the one that the fact is about, whoever was said to pay for it. */
  readonly subscriptions: ReadonlyArray<RecordedSubscription>
  /** The name that the fact's credits were booked by, once somebody has told of them. */
  readonly bookedAs: Option.Option<string>
}

/** The users that a fact's signs lead to. */
export interface CardUserMatch {
  readonly byId: Option.Option<UserId>
  readonly byEmail: Option.Option<UserId>
}

export interface CardCreditBooking extends CreditPurchase {
  readonly userId: UserId
  /** The first of its names that anybody told: the same purchase is booked by one name once. */
  readonly cause: string
}

export interface AppliedCardFact {
  /** Whose it is. */
  readonly userId: UserId
  readonly payer: Option.Option<Payer>
  /** Those that are otherwise now. */
  readonly subscriptions: ReadonlyArray<RecordedSubscription>
  readonly booking: Option.Option<CardCreditBooking>
  /** Everybody who has, or had, one of them. */
  readonly users: ReadonlyArray<UserId>
  /** Under what facts may wait that are known to be somebody's since now. */
  readonly nowKnown: ReadonlyArray<string>
}

// An id that our own checkout wrote says whose it is. An address only lets it be guessed: people have several.
const named = 2
const guessed = 1

const signOf = (fact: CardFact, { byEmail, byId }: CardUserMatch): TimedValue<UserId> | null => {
  const at =
    (strength: number) =>
    (value: UserId): TimedValue<UserId> => ({ value, moment: { ...fact.moment, strength } })
  return Option.getOrNull(Option.orElse(Option.map(byId, at(named)), () => Option.map(byEmail, at(guessed))))
}

/**
 * What a fact makes of the books; none while nobody is known whose it could be. Facts that are applied twice or in another
 * order leave the same books: whatever is kept is the newest of its kind, in an order that the facts bring along.
 */
export const applyCardFact = (
  books: CardRecords,
  fact: CardFact,
  signs: CardUserMatch
): Option.Option<AppliedCardFact> => {
  const payer = pickNewest(Option.getOrNull(Option.map(books.payer, ({ user }) => user)), signOf(fact, signs))
  const told = Option.map(fact.subscription, ({ facts, id }): Omit<RecordedSubscription, "userId"> & Owned => {
    const owner = Option.getOrNull(
      Option.map(signs.byId, (value): TimedValue<UserId> => ({ value, moment: { ...fact.moment, strength: named } }))
    )
    const before = books.subscriptions.find((known) => known.id === id)
    const given = { ...facts, owner }
    return {
      id,
      // What was told without a customer is under its own name only until he is known.
      payer: before !== undefined && fact.payer === id ? before.payer : fact.payer,
      facts: before === undefined ? given : mergeSubscriptionFacts(before.facts, given),
      before
    }
  })
  const owner = Option.match(told, {
    onNone: () => Option.orElse(signs.byId, () => Option.fromNullable(payer?.value)),
    onSome: ({ before, facts }) => Option.fromNullable(facts.owner?.value ?? payer?.value ?? before?.userId)
  })
  return Option.map(owner, (userId) => {
    const mine = Option.match(told, {
      onNone: (): ReadonlyArray<RecordedSubscription> => [],
      onSome: ({ facts, id, payer: by }) => [{ id, payer: by, facts, userId }]
    })
    // Whoever the payer turns out to be has what he pays for, unless it says itself whose it is.
    const moved =
      payer === null
        ? []
        : books.subscriptions
            .filter((known) => known.payer === fact.payer && !mine.some(({ id }) => id === known.id))
            .filter((known) => known.facts.owner === null && known.userId !== payer.value)
            .map((known) => ({ ...known, userId: payer.value }))
    const changed = [...mine, ...moved]
    const before = changed.flatMap(({ id }) => books.subscriptions.filter((known) => known.id === id))
    return {
      userId,
      payer: payer === null ? Option.none() : Option.some({ id: fact.payer, user: payer }),
      subscriptions: changed,
      booking: Option.map(fact.credits, (credits) => ({
        ...credits,
        userId,
        cause: Option.getOrElse(books.bookedAs, () => credits.names[0])
      })),
      nowKnown: [
        ...(payer === null || Option.exists(books.payer, ({ user }) => user.value === payer.value) ? [] : [fact.payer]),
        ...mine.flatMap(({ id }) => (books.subscriptions.some((known) => known.id === id) ? [] : [id]))
      ],
      users: [...new Set([...before, ...changed].map((one) => one.userId))].toSorted()
    }
  })
}

interface Owned {
  readonly before: RecordedSubscription | undefined
}
