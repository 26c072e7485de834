import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Accounts whose owner has not yet decided on the contents from before a claim. */
export class ClaimNoticeRepository extends Context.Tag("@berth/ClaimNoticeRepository")<
  ClaimNoticeRepository,
  {
    /** Replaces an earlier notice. */
    readonly record: (userId: UserId, claimedAt: DateTime.Utc) => Effect.Effect<void>
    /** Returns the time of the claim. */
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<DateTime.Utc>>
    /** False if there is none. */
    readonly remove: (userId: UserId) => Effect.Effect<boolean>
  }
>() {}
