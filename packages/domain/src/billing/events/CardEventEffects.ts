import { Duration, Effect, Option } from "effect"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import type { User } from "../../shared/User.ts"
import { Users } from "../../accounts/Users.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { BillingSettings } from "../BillingSettings.ts"
import { CreditPurchases } from "../credits/CreditPurchases.ts"
import { PurchaseAttempts } from "../checkout/PurchaseAttempts.ts"
import type { Reversal } from "../Reversal.ts"
import { applyCardFact, type CardCreditBooking, type CardUserMatch } from "./CardFactApplication.ts"
import { isReversalEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import { CardEventRepository } from "./CardEventRepository.ts"
import { PlanChanges } from "./PlanChanges.ts"
import { makeCreditBooking, makeMonthBooking } from "./CardBookings.ts"
import { readCardEvent } from "./CardEventReader.ts"
import { readReversal } from "./ReversalReader.ts"
import type { UserId } from "../../shared/UserId.ts"
import { ApplyCardEventJob } from "./CardEventJobs.ts"

/** How long events are kept: longer than the card processor sends one again, and long enough for a customer to appear. */
export const cardEventLifetime = Duration.days(90)

/** A job that follows an event is done within seconds; one that was not has been lost. */
const overdueAfter = Duration.minutes(15)
const unclearAfter = Duration.hours(1)
const batch = 200

/** What events of the card processor do. Everything that one does happens in one transaction, and once. */
export class CardEventEffects extends Effect.Service<CardEventEffects>()("@berth/CardEventEffects", {
  effect: Effect.gen(function* () {
    const events = yield* CardEventRepository
    const { prices } = yield* BillingSettings
    const users = yield* Users
    const changes = yield* PlanChanges
    const purchases = yield* CreditPurchases
    const attempts = yield* PurchaseAttempts
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const rules = yield* AccountPolicy

    /** An address that nobody has confirmed may be a stranger's, who wants what its owner pays for. */
    const isHis = ({ emailVerifiedAt }: User) => !rules.verifiedEmailsOnly || emailVerifiedAt !== null

    const findNamed = (ids: ReadonlyArray<UserId>) =>
      Effect.map(
        Effect.forEach(ids, (id) => Effect.option(users.find(id))),
        Option.firstSomeOf
      )

    const signsOf = (fact: CardFact) =>
      Effect.gen(function* () {
        const named = yield* findNamed(fact.userIds)
        const addressed = Option.isSome(fact.email) ? yield* users.findByEmail(fact.email.value) : Option.none<User>()
        return {
          byId: Option.map(named, ({ id }) => id),
          byEmail: Option.map(Option.filter(addressed, isHis), ({ id }) => id)
        } satisfies CardUserMatch
      })

    /** Whether it was for an account that was deleted since, and for nobody else. */
    const isForTheDeparted = (fact: CardFact, signs: CardUserMatch) =>
      Option.isSome(signs.byId) || fact.userIds.length === 0
        ? Effect.succeed(false)
        : Effect.map(users.findAbsent(fact.userIds), (absent) => [...absent.values()].includes("deleted"))

    /** What was paid by names that it goes by; the same purchase, told of again, is booked by the first of them once. */
    const book = (booking: CardCreditBooking) =>
      Effect.flatMap(purchases.book(makeCreditBooking(booking)), (outcome) =>
        outcome === "booked"
          ? Effect.logInfo("Credits were bought by card").pipe(
              Effect.annotateLogs({ userId: booking.userId, credits: booking.credits })
            )
          : Effect.void
      )

    /** The history of a user shows the months that he has paid. */
    const bookMonth = (fact: CardFact, userId: UserId) =>
      Option.match(fact.invoice, {
        onNone: () => Effect.void,
        onSome: (invoice) => purchases.book(makeMonthBooking(invoice, userId))
      })

    /** In the order of their ids, like whoever else holds several. */
    const holdAll = (ids: ReadonlyArray<UserId>) =>
      Effect.forEach([...ids].toSorted(), (id) => Effect.orDie(users.findForUpdate(id)))

    const retry = (ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (eventId) => outbox.append(ApplyCardEventJob, { eventId }), { discard: true })

    const carryOut = (id: string, fact: CardFact) =>
      Effect.gen(function* () {
        const books = yield* events.readRecordsForUpdate(fact)
        const signs = yield* signsOf(fact)
        if (yield* isForTheDeparted(fact, signs)) return yield* events.markIgnored(id)
        const applied = applyCardFact(books, fact, signs)
        if (Option.isNone(applied)) {
          yield* Effect.logWarning("An event of the card processor waits for its customer")
          return yield* events.markUnmatched(id, { payer: fact.payer, email: fact.email })
        }
        const { booking, userId } = applied.value
        const held = yield* holdAll([...new Set([...applied.value.users, userId])])
        yield* events.saveApplied(applied.value)
        if (Option.isSome(booking)) yield* book(booking.value)
        yield* bookMonth(fact, userId)
        if (Option.isSome(fact.failedAttempt)) yield* attempts.settle(fact.failedAttempt.value, "refused")
        if (applied.value.subscriptions.length > 0) yield* Effect.forEach(held, changes.apply, { discard: true })
        if (fact.isUnclear) yield* Effect.logError("Something was paid by card, and nothing says what it is for")
        yield* events.markApplied(id, userId, fact.isUnclear ? "unclear" : "applied")
        yield* Effect.flatMap(events.listUnmatchedByPayer(applied.value.nowKnown), retry)
      })

    /** Needs no user: a reversal belongs to the purchase of its payment, also one that is booked later. */
    const reverse = (id: string, reversal: Reversal) =>
      Effect.gen(function* () {
        const outcome = yield* purchases.reverse(reversal)
        yield* Effect.logInfo("Card payment reversed").pipe(Effect.annotateLogs({ outcome }))
        yield* events.markApplied(id, null, "applied")
      })

    /** Lets an event have its effects, unless it has had them. Doing it again changes nothing. */
    const apply = Effect.fn("CardEventEffects.apply")(function* (id: string) {
      yield* Effect.annotateCurrentSpan({ "card.event": id })
      yield* transaction
        .run(
          Effect.gen(function* () {
            const held = yield* events.findForUpdate(id)
            if (Option.isNone(held)) return yield* Effect.logWarning("An event of the card processor is not on record")
            const { event, status } = held.value
            if (status === "applied" || status === "ignored") return
            if (isReversalEvent(event)) return yield* reverse(id, yield* readReversal(event))
            yield* carryOut(id, yield* readCardEvent(event, prices))
          })
        )
        .pipe(
          Effect.tapError(() => events.markUnreadable(id)),
          Effect.annotateLogs({ cardEvent: id })
        )
    })

    /** Somebody has an address that he had not: what was paid under it is his. */
    const matchUser = Effect.fn("CardEventEffects.matchUser")(function* (userId: UserId) {
      const user = yield* Effect.option(users.find(userId))
      if (Option.isNone(user) || !isHis(user.value)) return
      yield* transaction.run(Effect.flatMap(events.listUnmatchedByEmail(user.value.email), retry))
    })

    /** For jobs that were lost, and for customers that came at the very moment their event was parked. */
    const retryOverdue = transaction
      .run(
        Effect.tap(
          events.claimOverdue({ minimumAge: overdueAfter, confirmedOnly: rules.verifiedEmailsOnly, limit: batch }),
          retry
        )
      )
      .pipe(
        Effect.map(({ length }) => length),
        Effect.withSpan("CardEventEffects.retryOverdue")
      )

    /** Forgets what is old, and looks again at what could not be understood: the operator may have set its price since. */
    const runRetention = Effect.gen(function* () {
      const unclear = yield* transaction.run(
        Effect.tap(events.claimUnclear({ minimumAge: unclearAfter, limit: batch }), retry)
      )
      if (unclear.length > 0)
        yield* Effect.logError("Something was paid by card, and nothing says what it is for").pipe(
          Effect.annotateLogs({ cardEvents: unclear })
        )
      const { removed, unapplied } = yield* events.prune(cardEventLifetime)
      if (unapplied.length > 0)
        yield* Effect.logError("Events of the card processor were forgotten that never had effects").pipe(
          Effect.annotateLogs({ cardEvents: unapplied })
        )
      return removed
    }).pipe(Effect.withSpan("CardEventEffects.runRetention"))

    return { apply, matchUser, retryOverdue, runRetention }
  })
}) {}
