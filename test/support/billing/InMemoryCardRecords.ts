import type { Email } from "@berth/domain/shared/Email"
import {
  type AppliedCardFact,
  applyCardFact,
  type CardPayer,
  type CardUserMatch,
  type RecordedSubscription
} from "@berth/domain/billing/events/CardFactApplication"
import { type CardEvent, isReversalEvent } from "@berth/domain/billing/events/CardEvent"
import type { CardFact } from "@berth/domain/billing/events/CardFact"
import { findEffectiveSubscription, hasStorageUpgrade } from "@berth/domain/billing/events/EffectiveSubscription"
import { readCardEvent } from "@berth/domain/billing/events/CardEventReader"
import { readReversal } from "@berth/domain/billing/events/ReversalReader"
import { type PurchasedUnits, type Reversal, reversedUnits } from "@berth/domain/billing/Reversal"
import { convertCreditsToUnits } from "@berth/domain/shared/Money"
import { Either, Option } from "effect"
import { returnedOf } from "./LedgerModel.ts"
import { UserId } from "@berth/domain/shared/UserId"

/** Accounts: `usr_x` has the address `x@example.com`. */
export const cardRecordUsers = ["a", "b"].map((name) => UserId.make(`usr_${name}`))

const byAddress = (email: Email) => cardRecordUsers.find((id) => `${id.slice(4)}@example.com` === email.toLowerCase())

const signsOf = (fact: CardFact): CardUserMatch => ({
  byId: Option.fromNullable(fact.userIds.find((id) => cardRecordUsers.includes(id))),
  byEmail: Option.flatMapNullable(fact.email, byAddress)
})

/** Card records in memory, decided by the same functions as those in the database. */
export const makeInMemoryCardRecords = () => {
  const done = new Set<string>()
  const payers = new Map<string, CardPayer>()
  const subscriptions = new Map<string, RecordedSubscription>()
  const names = new Map<string, string>()
  const booked = new Map<string, PurchasedUnits & { readonly userId: UserId }>()
  const reversals: Array<Reversal> = []
  const parked = new Map<string, { readonly event: CardEvent; readonly payer: string }>()

  const write = (applied: AppliedCardFact) => {
    if (Option.isSome(applied.payer)) payers.set(applied.payer.value.id, applied.payer.value)
    for (const one of applied.subscriptions) subscriptions.set(one.id, one)
    if (Option.isNone(applied.booking)) return
    const { cause, credits, names: all, paid, userId } = applied.booking.value
    for (const name of all) if (!names.has(name)) names.set(name, cause)
    if (!booked.has(cause)) booked.set(cause, { userId, units: convertCreditsToUnits(credits), amount: paid.amount })
  }

  const apply = (event: CardEvent): void => {
    if (done.has(event.id)) return
    if (isReversalEvent(event)) {
      done.add(event.id)
      reversals.push(Either.getOrThrow(readReversal(event)))
      return
    }
    const fact = Either.getOrThrow(readCardEvent(event, new Map()))
    const subscriptionId = Option.getOrUndefined(Option.map(fact.subscription, ({ id }) => id))
    const known = Option.match(fact.credits, { onNone: () => [], onSome: (credits) => credits.names })
    const books = {
      payer: Option.fromNullable(payers.get(fact.payer)),
      subscriptions: [...subscriptions.values()].filter(
        ({ id, payer }) => payer === fact.payer || id === subscriptionId
      ),
      bookedAs: Option.fromNullable(known.map((name) => names.get(name)).find((name) => name !== undefined))
    }
    const applied = applyCardFact(books, fact, signsOf(fact))
    if (Option.isNone(applied)) {
      parked.set(event.id, { event, payer: fact.payer })
      return
    }
    parked.delete(event.id)
    done.add(event.id)
    write(applied.value)
    for (const { event: waiting, payer } of parked.values()) if (applied.value.nowKnown.includes(payer)) apply(waiting)
  }

  /** The users' purchases and the known facts, without the cause of an entry. */
  const state = () => ({
    users: cardRecordUsers.map((userId) => {
      const mine = [...subscriptions.values()].filter((one) => one.userId === userId)
      return {
        counting: Option.getOrNull(findEffectiveSubscription(mine)),
        storage: hasStorageUpgrade(mine),
        units: [...booked]
          .filter(([, one]) => one.userId === userId)
          .map(([cause, one]) => {
            const mine = reversals.filter(({ payment }) => payment === cause || names.get(payment) === cause)
            return one.units - reversedUnits(one, returnedOf(mine))
          })
          .toSorted((a, b) => a - b)
      }
    }),
    payers: [...payers.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    subscriptions: [...subscriptions.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    parked: [...parked.keys()].toSorted()
  })

  return { apply, state }
}
