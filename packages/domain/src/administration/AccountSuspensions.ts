import { DateTime, Effect } from "effect"
import { Administrators } from "../accounts/Administrators.ts"
import { Users } from "../accounts/Users.ts"
import { ReconfigureInstanceJob } from "../agents/AgentJobs.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Sessions } from "../sessions/Sessions.ts"
import type { User } from "../shared/User.ts"
import type { UserId } from "../shared/UserId.ts"
import { AdministratorProtected } from "./AdministrationErrors.ts"
import { Audit } from "./audit/Audit.ts"
import type { Actor } from "./audit/AuditEntry.ts"

/** A suspended account cannot be used; it keeps its contents and its card subscription. */
export class AccountSuspensions extends Effect.Service<AccountSuspensions>()("@berth/AccountSuspensions", {
  effect: Effect.gen(function* () {
    const users = yield* Users
    const administrators = yield* Administrators
    const sessions = yield* Sessions
    const outbox = yield* Outbox
    const audit = yield* Audit
    const transaction = yield* Transaction

    const set = Effect.fnUntraced(function* (actor: Actor, before: User, isSuspended: boolean, reason: string) {
      const { id } = before
      yield* users.setSuspendedAt(id, isSuspended ? yield* DateTime.now : null)
      yield* audit.record(actor, isSuspended ? "user.suspend" : "user.unsuspend", id, {
        reason,
        before: { suspended: before.suspendedAt !== null },
        after: { suspended: isSuspended }
      })
      return yield* users.find(id)
    })

    /** Revokes all sessions at once; a job stops the instance. Idempotent. */
    const suspend = Effect.fn("AccountSuspensions.suspend")(function* (actor: Actor, id: UserId, reason: string) {
      const user = yield* transaction.run(
        Effect.gen(function* () {
          const before = yield* users.findForUpdate(id)
          if (administrators.includes(before)) return yield* new AdministratorProtected()
          yield* sessions.revokeAll(id)
          yield* outbox.append(ReconfigureInstanceJob, { userId: id }, id)
          return yield* set(actor, before, true, reason)
        })
      )
      yield* Effect.logWarning("Account suspended").pipe(Effect.annotateLogs({ userId: id, actor }))
      return user
    })

    /** The instance starts with the owner's next message or start request. Idempotent. */
    const unsuspend = Effect.fn("AccountSuspensions.unsuspend")(function* (actor: Actor, id: UserId, reason: string) {
      const user = yield* transaction.run(
        Effect.flatMap(users.findForUpdate(id), (before) => set(actor, before, false, reason))
      )
      yield* Effect.logInfo("Account suspension ended").pipe(Effect.annotateLogs({ userId: id, actor }))
      return user
    })

    return { suspend, unsuspend }
  })
}) {}
