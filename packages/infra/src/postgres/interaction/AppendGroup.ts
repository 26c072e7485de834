import type { ReservationTerms } from "@berth/domain/billing/units/UnitLedger"
import type { PendingLimits } from "@berth/domain/interaction/conversations/ConversationRepository"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { selectRequests } from "../RequestTable.ts"
import { mapRows } from "../Rows.ts"
import { appendAccepted, appendedColumns, type AppendedMessage, newMessagesKey } from "./AppendMessage.ts"
import { MessageRow } from "./MessageRow.ts"

/** A message to append, paid by units of the day. `id`: of the message, the cause of its reservation. */
export interface PaidMessage extends AppendedMessage {
  readonly id: string
  readonly payment: ReservationTerms
  readonly limits: PendingLimits
}

const decodeMessages = mapRows(MessageRow, (message) => [message.id, message] as const)

/**
 * Appends several messages and reserves the units of their turns, in one statement: per user, all or none. Returns the
 * appended messages. Unless it waits for locks, skips a message if rows of its user, its agent or its session are
 * locked, the day has no row, or the session has another message in the group.
 */
export const makeAppendGroup = (
  sql: SqlClient,
  directly: Directly,
  holder: string,
  { waits }: { readonly waits: boolean }
) => {
  const skipLocked = sql.literal(waits ? "" : "skip locked")
  const joinDay = sql.literal(waits ? "left join" : "join")
  const key = newMessagesKey(sql, sql`user_id`)
  const isLocked = waits ? sql`pg_advisory_xact_lock(${key}) is not null` : sql`pg_try_advisory_xact_lock(${key})`
  return (requests: ReadonlyArray<PaidMessage>) => {
    const group = Array.dedupeWith(requests, (one, other) => one.message.sessionId === other.message.sessionId)
    const request = selectRequests(sql, group, {
      ...appendedColumns,
      userId: ["text", ({ payment }) => payment.user.id],
      plan: ["text", ({ payment }) => payment.user.plan],
      isUnconfirmed: ["boolean", ({ payment }) => payment.user.emailVerifiedAt === null],
      payingAgent: ["text", ({ payment }) => payment.agentId],
      day: ["date", ({ at }) => DateTime.formatIsoDateUtc(at)],
      units: ["bigint", ({ payment }) => payment.units],
      dailyUnits: ["bigint", ({ payment }) => payment.dailyUnitsOf(payment.user)],
      sessionLimit: ["integer", ({ limits }) => limits.session],
      userLimit: ["integer", ({ limits }) => limits.user]
    })
    return decodeMessages(
      directly(sql`
        with request as materialized (${request}), locked as materialized (
          select request.*, ${isLocked} as is_locked from request
        ), held as materialized (
          select locked.*, coalesce(today.used, 0) as used
          from locked
          cross join lateral (
            select plan, email_verified_at from users where id = locked.user_id for key share ${skipLocked}
          ) as payer
          ${joinDay} lateral (
            select used from unit_days where user_id = locked.user_id and day = locked.day
            for no key update ${skipLocked}
          ) as today on true
          cross join lateral (
            -- Depends on the day, since the lock order has the day first.
            select agent_id from chat_sessions
            where id = session_id and user_id = locked.user_id and coalesce(today.used, 0) >= 0
            for no key update ${skipLocked}
          ) as session
          cross join lateral (select from agents where id = session.agent_id for key share ${skipLocked}) as agent
          where is_locked and payer.plan = locked.plan and (payer.email_verified_at is null) = is_unconfirmed
        ), fitting as materialized (
          select held.*, sum(units) over payer as units_together, of_user + count(*) over payer as pending_then
          -- Counts everything committed before the user's lock was acquired, since the statement's snapshot is older.
          from held cross join lateral count_pending_messages(user_id, session_id) as pending
          where of_session < session_limit and not exists (
            select from reservations where user_id = held.user_id and cause = held.id and state <> 'released'
          ) and not exists (select from budgets where user_id = held.user_id)
          window payer as (partition by user_id, day)
        ), payer as materialized (
          select distinct user_id, day, units_together::bigint as units, daily_units from fitting
          where used + units_together <= daily_units and pending_then <= user_limit
        ), held_day as (
          insert into unit_days as today (user_id, day, used) select user_id, day, units from payer
          on conflict (user_id, day) do update set used = today.used + excluded.used
          where today.used + excluded.used <= (
            select daily_units from payer where payer.user_id = today.user_id and payer.day = today.day
          )
          returning user_id, day
        ), accepted as materialized (
          select fitting.*, 0 as repeated from fitting join held_day using (user_id, day)
        ), reserved as (
          insert into reservations
            (id, user_id, agent_id, cause, day, state, daily_units, credit_units, holder, created_at)
          select reservation_id, user_id, paying_agent, id, day, 'reserved', units, 0, ${holder}, at from accepted
        ), ${appendAccepted(sql)}`)
    )
  }
}
