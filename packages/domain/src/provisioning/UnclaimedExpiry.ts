import { Duration, Effect } from "effect"
import { InstanceActionJob } from "../instances/InstanceJobs.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { RemoveAccountJob } from "../recovery/deletion/AccountDeletionJobs.ts"
import { UnclaimedAgents, UnclaimedPolicy } from "./UnclaimedAgents.ts"

/** Ends what is not claimed: the instance is stopped after the lifetime, the account deleted after twice that time. */
export class UnclaimedExpiry extends Effect.Service<UnclaimedExpiry>()("@berth/UnclaimedExpiry", {
  effect: Effect.gen(function* () {
    const unclaimed = yield* UnclaimedAgents
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const { lifetime } = yield* UnclaimedPolicy

    /** Idempotent: each owner is stopped and removed once. */
    const run = Effect.fn("UnclaimedExpiry.run")(function* () {
      const stopped = yield* transaction.run(
        Effect.tap(unclaimed.markStopped(lifetime), (owners) =>
          Effect.forEach(
            owners,
            (userId) => outbox.append(InstanceActionJob, { userId, action: "stop" as const }, userId),
            {
              discard: true
            }
          )
        )
      )
      const removed = yield* transaction.run(
        Effect.tap(unclaimed.markRemoved(Duration.times(lifetime, 2)), (owners) =>
          Effect.forEach(owners, (userId) => outbox.append(RemoveAccountJob, { userId }), { discard: true })
        )
      )
      if (stopped.length + removed.length > 0)
        yield* Effect.logInfo("Unclaimed agents expired").pipe(
          Effect.annotateLogs({ stopped: stopped.length, removed: removed.length })
        )
    })

    return { run }
  })
}) {}
