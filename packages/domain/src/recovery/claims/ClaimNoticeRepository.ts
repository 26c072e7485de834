import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Accounts whose owner has not decided yet about the contents from before a claim. */
export class ClaimNoticeRepository extends Context.Tag("@berth/ClaimNoticeRepository")<
  ClaimNoticeRepository,
  {
    /** Replaces an earlier notice. */
    readonly record: (userId: UserId, claimedAt: DateTime.Utc) => Effect.Effect<void>
    /** The time of the claim. */
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<DateTime.Utc>>
    /** False when there is none. */
    readonly remove: (userId: UserId) => Effect.Effect<boolean>
  }
>() {}
