import { Effect, Option } from "effect"
import { Caller } from "../../sessions/Caller.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { Actor, AuditAction, AuditFields } from "./AuditEntry.ts"
import { AuditLog } from "./AuditLog.ts"

interface AuditDetails {
  readonly reason?: string
  readonly before?: AuditFields
  readonly after?: AuditFields
}

/** Records administrative actions with the id of the current request. */
export class Audit extends Effect.Service<Audit>()("@berth/Audit", {
  effect: Effect.map(AuditLog, ({ append, list }) => ({
    /** Joins the transaction of the action. */
    record: Effect.fn("Audit.record")(function* (
      actor: Actor,
      action: AuditAction,
      userId: UserId,
      { after, before, reason }: AuditDetails = {}
    ) {
      const { requestId } = yield* Caller
      yield* append({
        actor,
        action,
        userId,
        reason: reason ?? null,
        before: before ?? null,
        after: after ?? null,
        requestId: Option.getOrNull(requestId)
      })
    }),
    list
  }))
}) {}
