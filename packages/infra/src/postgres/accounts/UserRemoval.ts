import { AccountInUse } from "@berth/domain/accounts/AccountErrors"
import type { UserAbsence } from "@berth/domain/accounts/UserRepository"
import type { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { digestPrincipal } from "../limits/PostgresIdempotencyKeys.ts"
import { decodeRows } from "../Rows.ts"
import { isLockConflict } from "../SqlErrors.ts"
import { toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"

const Absent = Schema.Struct({ id: UserId, wasDeleted: Schema.Boolean })

/**
 * The schema's cascades remove rows that reference the user; the other rows are removed here. Money records change to
 * the pseudonym.
 */
export const makeUserRemoval = (sql: SqlClient) => ({
  remove: Effect.fnUntraced(
    function* (id: UserId, formerUser: string) {
      // Other transactions have different lock orders, so the deletion fails before the database detects a deadlock.
      yield* sql`set local lock_timeout = '250ms'`
      const locked = yield* sql`select id from users where id = ${toStorableText(id)} for update`
      if (locked.length === 0) return false
      yield* sql`update ledger_entries set user_id = null, former_user = ${formerUser} where user_id = ${id}`
      yield* sql`update purchases set user_id = null, former_user = ${formerUser} where user_id = ${id}`
      yield* sql`update model_usage set user_id = null, former_user = ${formerUser} where user_id = ${id}`
      yield* sql`
      insert into former_subscriptions (former_user, plan, status, updated_at, current_period_end, last_event_at)
      select ${formerUser}, plan, status, updated_at, current_period_end, last_event_at from subscriptions where user_id = ${id}`
      yield* sql`delete from answer_events where message_id in (select id from messages where user_id = ${id})`
      // Most rows of a large account; a separate statement stays below the statement timeout.
      yield* sql`delete from messages where user_id = ${id}`
      yield* sql`delete from idempotency_keys where principal_hash = ${digestPrincipal(id)}`
      yield* sql`
      insert into deleted_users (id, deleted_on) values (${id}, ${DateTime.formatIsoDateUtc(yield* DateTime.now)}::date)`
      yield* sql`delete from users where id = ${id}`
      return true
    },
    Effect.catchAll((error) => (isLockConflict(error) ? new AccountInUse() : Effect.die(error)))
  ),
  findAbsent: (ids: ReadonlyArray<UserId>) =>
    sql`
      select requested.id, exists (select from deleted_users where deleted_users.id = requested.id) as was_deleted
      from jsonb_array_elements_text(${JSON.stringify(ids.map(toStorableText))}::jsonb) as requested (id)
      where not exists (select from users where users.id = requested.id)`.pipe(
      decodeRows(Absent),
      Effect.map(
        (rows) =>
          new Map(rows.map(({ id, wasDeleted }): [UserId, UserAbsence] => [id, wasDeleted ? "deleted" : "unknown"]))
      )
    )
})
