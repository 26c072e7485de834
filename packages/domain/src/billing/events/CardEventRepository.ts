import { Context, type Duration, type Effect, type Option, Schema } from "effect"
import type { Email } from "../../shared/Email.ts"
import type { AppliedCardFact, CardRecords, RecordedSubscription } from "./CardFactApplication.ts"
import type { CardEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import type { UserId } from "../../shared/UserId.ts"

/**
 * `unmatched`: no known user yet. `ignored`: the user was deleted. `unclear`: applied without a known purchase.
 * `unreadable`: does not match the schema of its type.
 */
export const CardEventStatus = Schema.Literal("received", "applied", "unclear", "unreadable", "unmatched", "ignored")
export type CardEventStatus = typeof CardEventStatus.Type

/** Customer that an unmatched event waits for. */
interface AwaitedPayer {
  readonly payer: string
  readonly email: Option.Option<Email>
}

/** Card events, and the payers and subscriptions known from them. */
export class CardEventRepository extends Context.Tag("@berth/CardEventRepository")<
  CardEventRepository,
  {
    /** Joins the running transaction. False if the event is already stored. */
    readonly insert: (event: CardEvent) => Effect.Effect<boolean>
    /** Locks the event until the running transaction ends. */
    readonly findForUpdate: (
      id: string
    ) => Effect.Effect<Option.Option<{ readonly event: CardEvent; readonly status: CardEventStatus }>>
    /** Returns the records that the fact affects, locked until the running transaction ends. */
    readonly readRecordsForUpdate: (fact: CardFact) => Effect.Effect<CardRecords>
    readonly saveApplied: (applied: AppliedCardFact) => Effect.Effect<void>
    readonly listSubscriptions: (userId: UserId) => Effect.Effect<ReadonlyArray<RecordedSubscription>>
    /** Deletes the payload if there is no user. */
    readonly markApplied: (id: string, userId: UserId | null, status: "applied" | "unclear") => Effect.Effect<void>
    readonly markUnmatched: (id: string, awaited: AwaitedPayer) => Effect.Effect<void>
    /** Deletes the payload, since the customer's account was deleted. */
    readonly markIgnored: (id: string) => Effect.Effect<void>
    readonly listUnmatchedByPayer: (payers: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    readonly listUnmatchedByEmail: (email: Email) => Effect.Effect<ReadonlyArray<string>>
    readonly markUnreadable: (id: string) => Effect.Effect<void>
    /**
     * Overdue events, oldest first, each at most once per `minimumAge`: received events, and unmatched events whose
     * payer or address is now known. `confirmedOnly` requires a confirmed address.
     */
    readonly claimOverdue: (options: {
      readonly minimumAge: Duration.Duration
      readonly confirmedOnly: boolean
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<string>>
    /** Unclear events, each at most once per `minimumAge`. */
    readonly claimUnclear: (options: {
      readonly minimumAge: Duration.Duration
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<string>>
    /** Deletes events older than this. Returns the ids of events that were never applied. */
    readonly prune: (lifetime: Duration.Duration) => Effect.Effect<{
      readonly removed: number
      readonly unapplied: ReadonlyArray<string>
    }>
  }
>() {}
