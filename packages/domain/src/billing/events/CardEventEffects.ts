import { Duration, Effect, Option } from "effect"
import { AccountRules } from "../../accounts/AccountRules.ts"
import type { User, UserId } from "../../accounts/User.ts"
import { Users } from "../../accounts/Users.ts"
import { ApplyCardEvent } from "../../jobs/Job.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { CreditPurchases } from "../CreditPurchases.ts"
import { PurchaseAttempts } from "../PurchaseAttempts.ts"
import type { Reversal } from "../Reversal.ts"
import { applyFact, type Booking, type Signs } from "./ApplyFact.ts"
import { isReversalEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import { CardEvents } from "./CardEvents.ts"
import { PlanChanges } from "./PlanChanges.ts"
import { creditsBooking, monthBooking } from "./Bookings.ts"
import { CardPrices } from "./Bought.ts"
import { readCardEvent } from "./ReadCardEvent.ts"
import { readReversal } from "./ReadReversal.ts"

/** How long events are kept: longer than the card processor sends one again, and long enough for a customer to appear. */
export const eventLifetime = Duration.days(90)

/** A job that follows an event is done within seconds; one that was not has been lost. */
const overdueAfter = Duration.minutes(15)
const unclearAfter = Duration.hours(1)
const batch = 200

/** What events of the card processor do. Everything that one does happens in one transaction, and once. */
export class CardEventEffects extends Effect.Service<CardEventEffects>()("@berth/CardEventEffects", {
  effect: Effect.gen(function* () {
    const events = yield* CardEvents
    const prices = yield* CardPrices
    const users = yield* Users
    const changes = yield* PlanChanges
    const purchases = yield* CreditPurchases
    const attempts = yield* PurchaseAttempts
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const rules = yield* AccountRules

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
        } satisfies Signs
      })

    /** Whether it was for an account that was deleted since, and for nobody else. */
    const isForTheDeparted = (fact: CardFact, signs: Signs) =>
      Option.isSome(signs.byId) || fact.userIds.length === 0
        ? Effect.succeed(false)
        : Effect.map(users.absentAmong(fact.userIds), (absent) => [...absent.values()].includes("deleted"))

    /** What was paid by names that it goes by; the same purchase, told of again, is booked by the first of them once. */
    const book = (booking: Booking) =>
      Effect.flatMap(purchases.book(creditsBooking(booking)), (outcome) =>
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
        onSome: (invoice) => purchases.book(monthBooking(invoice, userId))
      })

    /** In the order of their ids, like whoever else holds several. */
    const holdAll = (ids: ReadonlyArray<UserId>) =>
      Effect.forEach([...ids].toSorted(), (id) => Effect.orDie(users.hold(id)))

    const retry = (ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (eventId) => outbox.append(ApplyCardEvent, { eventId }), { discard: true })

    const carryOut = (id: string, fact: CardFact) =>
      Effect.gen(function* () {
        const books = yield* events.holdBooks(fact)
        const signs = yield* signsOf(fact)
        if (yield* isForTheDeparted(fact, signs)) return yield* events.markDropped(id)
        const applied = applyFact(books, fact, signs)
        if (Option.isNone(applied)) {
          yield* Effect.logWarning("An event of the card processor waits for its customer")
          return yield* events.markParked(id, { payer: fact.payer, email: fact.email })
        }
        const { booking, userId } = applied.value
        const held = yield* holdAll([...new Set([...applied.value.users, userId])])
        yield* events.write(applied.value)
        if (Option.isSome(booking)) yield* book(booking.value)
        yield* bookMonth(fact, userId)
        if (Option.isSome(fact.failedAttempt)) yield* attempts.settle(fact.failedAttempt.value, "refused")
        if (applied.value.subscriptions.length > 0) yield* Effect.forEach(held, changes.follow, { discard: true })
        if (fact.isUnclear) yield* Effect.logError("Something was paid by card, and nothing says what it is for")
        yield* events.markApplied(id, userId, fact.isUnclear ? "unclear" : "applied")
        yield* Effect.flatMap(events.parkedUnder(applied.value.nowKnown), retry)
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
            const held = yield* events.hold(id)
            if (Option.isNone(held)) return yield* Effect.logWarning("An event of the card processor is not on record")
            const { event, state } = held.value
            if (state === "applied" || state === "dropped") return
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
      yield* transaction.run(Effect.flatMap(events.parkedFor(user.value.email), retry))
    })

    /** For jobs that were lost, and for customers that came at the very moment their event was parked. */
    const lookOver = transaction
      .run(
        Effect.tap(
          events.takeOverdue({ patience: overdueAfter, confirmedOnly: rules.verifiedEmailsOnly, limit: batch }),
          retry
        )
      )
      .pipe(
        Effect.map(({ length }) => length),
        Effect.withSpan("CardEventEffects.lookOver")
      )

    /** Forgets what is old, and looks again at what could not be understood: the operator may have set its price since. */
    const tidy = Effect.gen(function* () {
      const unclear = yield* transaction.run(
        Effect.tap(events.takeUnclear({ patience: unclearAfter, limit: batch }), retry)
      )
      if (unclear.length > 0)
        yield* Effect.logError("Something was paid by card, and nothing says what it is for").pipe(
          Effect.annotateLogs({ cardEvents: unclear })
        )
      const { removed, unapplied } = yield* events.prune(eventLifetime)
      if (unapplied.length > 0)
        yield* Effect.logError("Events of the card processor were forgotten that never had effects").pipe(
          Effect.annotateLogs({ cardEvents: unapplied })
        )
      return removed
    }).pipe(Effect.withSpan("CardEventEffects.tidy"))

    return { apply, matchUser, lookOver, tidy }
  })
}) {}
