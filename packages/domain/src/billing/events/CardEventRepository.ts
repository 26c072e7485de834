import { Context, type Duration, type Effect, type Option, Schema } from "effect"
import type { Email } from "../../shared/Email.ts"
import type { AppliedCardFact, CardRecords, RecordedSubscription } from "./CardFactApplication.ts"
import type { CardEvent } from "./CardEvent.ts"
import type { CardFact } from "./CardFact.ts"
import type { UserId } from "../../shared/UserId.ts"

/**
 * `unmatched`: no user known yet. `ignored`: its user was deleted. `unclear`: applied without a known purchase. `unreadable`: not
 * of the shape of its type.
 */
export const CardEventStatus = Schema.Literal("received", "applied", "unclear", "unreadable", "unmatched", "ignored")
export type CardEventStatus = typeof CardEventStatus.Type

/** Who an event that is parked waits for. */
export interface AwaitedPayer {
  readonly payer: string
  readonly email: Option.Option<Email>
}

/** Events of the card processor, and what they have told of payers and their subscriptions. */
export class CardEventRepository extends Context.Tag("@berth/CardEventRepository")<
  CardEventRepository,
  {
    /** Joins the running transaction. False when the event was stored before. */
    readonly insert: (event: CardEvent) => Effect.Effect<boolean>
    /** The event, which nobody else applies until the running transaction ends; none when it is not on record. */
    readonly findForUpdate: (
      id: string
    ) => Effect.Effect<Option.Option<{ readonly event: CardEvent; readonly status: CardEventStatus }>>
    /** What a fact is about, which nobody else changes until the running transaction ends. */
    readonly readRecordsForUpdate: (fact: CardFact) => Effect.Effect<CardRecords>
    readonly saveApplied: (applied: AppliedCardFact) => Effect.Effect<void>
    readonly listSubscriptions: (userId: UserId) => Effect.Effect<ReadonlyArray<RecordedSubscription>>
    /** Without a user the payload is deleted. */
    readonly markApplied: (id: string, userId: UserId | null, status: "applied" | "unclear") => Effect.Effect<void>
    readonly markUnmatched: (id: string, awaited: AwaitedPayer) => Effect.Effect<void>
    /** Forgets what it said: its customer's account was deleted. */
    readonly markIgnored: (id: string) => Effect.Effect<void>
    /** Those that wait under one of these names of payers. */
    readonly listUnmatchedByPayer: (payers: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    readonly listUnmatchedByEmail: (email: Email) => Effect.Effect<ReadonlyArray<string>>
    readonly markUnreadable: (id: string) => Effect.Effect<void>
    /**
     * Events that should have had effects by now, oldest first, each given out once in `patience`: those stored that long ago, and
     * those parked although somebody has the address by now, or pays by its payer. `confirmedOnly`: has confirmed it.
     */
    readonly claimOverdue: (options: {
      readonly minimumAge: Duration.Duration
      readonly confirmedOnly: boolean
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<string>>
    /** What nobody could say the purchase of, to be looked at again once prices may have been set; each once in `patience`. */
    readonly claimUnclear: (options: {
      readonly minimumAge: Duration.Duration
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<string>>
    /** Forgets events that were received longer ago; answers the ids of those that never had effects. */
    readonly prune: (lifetime: Duration.Duration) => Effect.Effect<{
      readonly removed: number
      readonly unapplied: ReadonlyArray<string>
    }>
  }
>() {}
