import { Effect, type Redacted } from "effect"
import { EmailChanges } from "../../accounts/email-change/EmailChanges.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { AccessMethods } from "../claims/AccessMethods.ts"

/** Undoes an email change by the link mailed to the previous address. */
export class EmailChangeUndo extends Effect.Service<EmailChangeUndo>()("@berth/EmailChangeUndo", {
  effect: Effect.gen(function* () {
    const changes = yield* EmailChanges
    const accessMethods = yield* AccessMethods
    const transaction = yield* Transaction

    /** Revokes every session, and the access methods added after the change. */
    const undo = Effect.fn("EmailChangeUndo.undo")(function* (token: Redacted.Redacted) {
      const userId = yield* transaction.run(
        Effect.gen(function* () {
          const restored = yield* changes.restore(token)
          yield* accessMethods.revokeAll(restored.userId, restored.changedAt)
          return restored.userId
        })
      )
      yield* Effect.logWarning("Email change undone").pipe(Effect.annotateLogs("userId", userId))
    })

    return { undo }
  })
}) {}
