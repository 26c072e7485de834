import { Context, Data, type DateTime, Effect, type Option, Schema } from "effect"
import { defineJob } from "../../jobs/JobKind.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { UserId } from "../../shared/UserId.ts"

/** Deletes the prompts and the memory from before the claim of an account. */
export const ResetClaimedContentsJob = defineJob({
  queue: "tasks",
  name: "reset-claimed-contents",
  payload: Schema.Struct({ userId: UserId })
})

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

/** The account was not claimed, or its owner has already decided. */
export class ClaimNoticeNotFound extends Data.TaggedError("ClaimNoticeNotFound")<object> {}

/** The owner's decision on prompts and memory that a stranger may have added before the claim. */
export class ClaimNotices extends Effect.Service<ClaimNotices>()("@berth/ClaimNotices", {
  effect: Effect.gen(function* () {
    const repository = yield* ClaimNoticeRepository
    const outbox = yield* Outbox
    const transaction = yield* Transaction

    /** Keeps the contents, or schedules their deletion. */
    const settle = Effect.fn("ClaimNotices.settle")(function* (userId: UserId, decision: "keep" | "reset") {
      yield* transaction.run(
        Effect.gen(function* () {
          if (!(yield* repository.remove(userId))) return yield* new ClaimNoticeNotFound()
          if (decision === "reset") yield* outbox.append(ResetClaimedContentsJob, { userId }, userId)
        })
      )
      yield* Effect.logInfo("Claim notice settled").pipe(Effect.annotateLogs({ userId, decision }))
    })

    return { find: repository.find, settle }
  })
}) {}
