import { Data, Effect } from "effect"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { UserId } from "../../shared/UserId.ts"
import { ResetClaimedContentsJob } from "./ClaimJobs.ts"
import { ClaimNoticeRepository } from "./ClaimNoticeRepository.ts"

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
