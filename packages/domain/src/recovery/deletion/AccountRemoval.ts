import { Effect, Schedule } from "effect"
import { Transaction } from "../../persistence/Transaction.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import type { UserId } from "../../shared/User.ts"
import { UserRepository } from "../../accounts/UserRepository.ts"

/** Whoever writes to the account at this moment is done in a blink. */
const again = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.jittered,
  Schedule.upTo("10 seconds")
)

/** Takes an account that is to be deleted out of the database: all of it in one transaction. Doing it again changes nothing. */
export class AccountRemoval extends Effect.Service<AccountRemoval>()("@berth/AccountRemoval", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const tokens = yield* Tokens
    const transaction = yield* Transaction

    const remove = Effect.fn("AccountRemoval.remove")(function* (userId: UserId) {
      // Drawn by lot: nothing leads from it to the user.
      const formerUser = `fmr_${tokens.hash(yield* tokens.make).slice(0, 32)}`
      const removed = yield* Effect.retry(transaction.run(users.remove(userId, formerUser)), again)
      if (removed) yield* Effect.logInfo("An account was deleted").pipe(Effect.annotateLogs("userId", userId))
    })

    return { remove }
  })
}) {}
