import { Effect, Schedule } from "effect"
import { Users } from "../../accounts/Users.ts"
import { DomainEvents } from "../../events/DomainEvents.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import type { UserId } from "../../shared/UserId.ts"
import { AccountRemovedJob } from "./AccountDeletionJobs.ts"

/** Transactions that lock rows of the account are short. */
const retrySchedule = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.jittered,
  Schedule.upTo("10 seconds")
)

/** Removes all rows of an account in one transaction, which appends the job that removes the instance. */
export class AccountRemoval extends Effect.Service<AccountRemoval>()("@berth/AccountRemoval", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const tokens = yield* Tokens
    const digests = yield* Digests
    const outbox = yield* Outbox
    const events = yield* DomainEvents
    const transaction = yield* Transaction

    /** Idempotent. */
    const remove = Effect.fn("AccountRemoval.remove")(function* (userId: UserId) {
      // Random, so that the pseudonym cannot be traced to the user.
      const formerUser = `fmr_${hashSecret(digests, yield* tokens.make).slice(0, 32)}`
      const removal = Effect.tap(users.remove(userId, formerUser), (removed) =>
        removed
          ? Effect.zipRight(
              outbox.append(AccountRemovedJob, { userId }),
              events.append({ kind: "user.deleted", data: { userId } }, null)
            )
          : Effect.void
      )
      const removed = yield* Effect.retry(transaction.run(removal), retrySchedule)
      if (removed) yield* Effect.logInfo("Account deleted").pipe(Effect.annotateLogs("userId", userId))
    })

    return { remove }
  })
}) {}
