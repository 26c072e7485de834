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
import { ApplyCardEventJob, isReversalEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import { CardEventRepository } from "./CardEventRepository.ts"
import { PlanChanges } from "./PlanChanges.ts"
import { makeCreditBooking, makeMonthBooking } from "./CardBookings.ts"
import { readCardEvent } from "./CardEventReader.ts"
import { readReversal } from "./ReversalReader.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Longer than the processor redelivers, with time for a customer to register. */
const cardEventLifetime = Duration.days(90)

/** Jobs of events run within seconds; after this time a job counts as lost. */
const overdueAfter = Duration.minutes(15)
const unclearAfter = Duration.hours(1)
const batch = 200

/** Applies card events: all effects of an event in one transaction, exactly once. */
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
    const policy = yield* AccountPolicy

    /** An unconfirmed address may belong to another person. */
    const ownsAddress = ({ emailVerifiedAt }: User) => !policy.verifiedEmailsOnly || emailVerifiedAt !== null

    const findNamed = (ids: ReadonlyArray<UserId>) =>
      Effect.map(
        Effect.forEach(ids, (id) => Effect.option(users.find(id))),
        Option.firstSomeOf
      )

    const findMatch = Effect.fnUntraced(function* (fact: CardFact) {
      const named = yield* findNamed(fact.userIds)
      const addressed = Option.isSome(fact.email) ? yield* users.findByEmail(fact.email.value) : Option.none<User>()
      return {
        byId: Option.map(named, ({ id }) => id),
        byEmail: Option.map(Option.filter(addressed, ownsAddress), ({ id }) => id)
      } satisfies CardUserMatch
    })

    /** Whether the fact refers to deleted accounts only. */
    const isForDeletedUser = (fact: CardFact, match: CardUserMatch) =>
      Option.isSome(match.byId) || fact.userIds.length === 0
        ? Effect.succeed(false)
        : Effect.map(users.findAbsent(fact.userIds), (absent) => [...absent.values()].includes("deleted"))

    /** Idempotent by the first known id of the purchase. */
    const book = (booking: CardCreditBooking) =>
      Effect.flatMap(purchases.book(makeCreditBooking(booking)), (outcome) =>
        outcome === "booked"
          ? Effect.logInfo("Credits purchased by card").pipe(
              Effect.annotateLogs({ userId: booking.userId, credits: booking.credits })
            )
          : Effect.void
      )

    const bookMonth = (fact: CardFact, userId: UserId) =>
      Option.match(fact.invoice, {
        onNone: () => Effect.void,
        onSome: (invoice) => purchases.book(makeMonthBooking(invoice, userId))
      })

    /** Lock order: users by id. */
    const lockUsers = (ids: ReadonlyArray<UserId>) =>
      Effect.forEach([...ids].toSorted(), (id) => Effect.orDie(users.findForUpdate(id)))

    const retry = (ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (eventId) => outbox.append(ApplyCardEventJob, { eventId }), { discard: true })

    const applyFact = Effect.fnUntraced(function* (id: string, fact: CardFact) {
      const records = yield* events.readRecordsForUpdate(fact)
      const match = yield* findMatch(fact)
      if (yield* isForDeletedUser(fact, match)) return yield* events.markIgnored(id)
      const applied = applyCardFact(records, fact, match)
      if (Option.isNone(applied)) {
        yield* Effect.logWarning("Card event waits for its customer")
        return yield* events.markUnmatched(id, { payer: fact.payer, email: fact.email })
      }
      const { booking, userId } = applied.value
      const locked = yield* lockUsers([...new Set([...applied.value.users, userId])])
      yield* events.saveApplied(applied.value)
      if (Option.isSome(booking)) yield* book(booking.value)
      yield* bookMonth(fact, userId)
      if (Option.isSome(fact.failedAttempt)) yield* attempts.settle(fact.failedAttempt.value, "refused")
      if (applied.value.subscriptions.length > 0) yield* Effect.forEach(locked, changes.apply, { discard: true })
      if (fact.isUnclear) yield* Effect.logError("Card payment has no known purchase")
      yield* events.markApplied(id, userId, fact.isUnclear ? "unclear" : "applied")
      yield* Effect.flatMap(events.listUnmatchedByPayer(applied.value.nowKnown), retry)
    })

    /** A reversal applies to the purchase of its payment, even if that is booked later. */
    const reverse = Effect.fnUntraced(function* (id: string, reversal: Reversal) {
      const outcome = yield* purchases.reverse(reversal)
      yield* Effect.logInfo("Card payment reversed").pipe(Effect.annotateLogs({ outcome }))
      yield* events.markApplied(id, null, "applied")
    })

    /** Applies an event. Idempotent. */
    const apply = Effect.fn("CardEventEffects.apply")(function* (id: string) {
      yield* Effect.annotateCurrentSpan({ "card.event": id })
      yield* transaction
        .run(
          Effect.gen(function* () {
            const locked = yield* events.findForUpdate(id)
            if (Option.isNone(locked)) return yield* Effect.logWarning("Card event not found")
            const { event, status } = locked.value
            if (status === "applied" || status === "ignored") return
            if (isReversalEvent(event)) return yield* reverse(id, yield* readReversal(event))
            yield* applyFact(id, yield* readCardEvent(event, prices))
          })
        )
        .pipe(
          Effect.tapError(() => events.markUnreadable(id)),
          Effect.annotateLogs({ cardEvent: id })
        )
    })

    /** Retries events that wait for the confirmed address of the user. */
    const matchUser = Effect.fn("CardEventEffects.matchUser")(function* (userId: UserId) {
      const user = yield* Effect.option(users.find(userId))
      if (Option.isNone(user) || !ownsAddress(user.value)) return
      yield* transaction.run(Effect.flatMap(events.listUnmatchedByEmail(user.value.email), retry))
    })

    /** Retries events with a lost job, and events whose customer became known while they were marked unmatched. */
    const retryOverdue = transaction
      .run(
        Effect.tap(
          events.claimOverdue({ minimumAge: overdueAfter, confirmedOnly: policy.verifiedEmailsOnly, limit: batch }),
          retry
        )
      )
      .pipe(
        Effect.map(({ length }) => length),
        Effect.withSpan("CardEventEffects.retryOverdue")
      )

    /** Retries unclear events, since their price may be configured by now, and deletes old events. */
    const runRetention = Effect.gen(function* () {
      const unclear = yield* transaction.run(
        Effect.tap(events.claimUnclear({ minimumAge: unclearAfter, limit: batch }), retry)
      )
      if (unclear.length > 0)
        yield* Effect.logError("Card payment has no known purchase").pipe(Effect.annotateLogs({ cardEvents: unclear }))
      const { removed, unapplied } = yield* events.prune(cardEventLifetime)
      if (unapplied.length > 0)
        yield* Effect.logError("Card events deleted without having been applied").pipe(
          Effect.annotateLogs({ cardEvents: unapplied })
        )
      return removed
    }).pipe(Effect.withSpan("CardEventEffects.runRetention"))

    return { apply, matchUser, retryOverdue, runRetention }
  })
}) {}
