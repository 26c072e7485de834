import type { TurnPriceLimit } from "@berth/domain/interaction/conversations/ConversationRepository"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { bookSettled } from "../billing/LedgerWriter.ts"
import type { Directly } from "../DirectQueries.ts"
import { selectRequests } from "../RequestTable.ts"
import { mapRows } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { MessageRow } from "./MessageRow.ts"
import { answerEnded, replyColumns, type StoredReply } from "./StoreReply.ts"

/** A turn that ends with a reply at a known price. `id`: of the reply. */
export interface CompletedTurn extends StoredReply {
  readonly id: string
  readonly price: TurnPriceLimit
  /** Ids of the ledger entries. */
  readonly entries: { readonly [account in "allowance" | "credits" | "usage" | "creditUsage"]: string }
}

const decodeReplies = mapRows(
  Schema.Struct({ ...MessageRow.fields, charged: UnitsColumn }),
  ({ charged, ...reply }) => [reply.id, { charged, reply }] as const
)

/**
 * Ends several turns in one statement: settles their reservations and stores their replies. Returns the replies, and the
 * units booked. Skips a turn whose calls cost more than its price covers, or whose message is not pending; unless it
 * waits for locks, also a turn with locked rows, and an A2A task, whose row changes with its message.
 */
export const makeCompleteGroup = (sql: SqlClient, directly: Directly, { waits }: { readonly waits: boolean }) => {
  const skipLocked = sql.literal(waits ? "" : "skip locked")
  const isOfGroup = sql.literal(waits ? "true" : "platform <> 'a2a'")
  return (requests: ReadonlyArray<CompletedTurn>) => {
    const request = selectRequests(sql, requests, {
      ...replyColumns,
      units: ["integer", ({ price }) => price.units],
      costLimit: ["bigint", ({ price }) => price.costLimit],
      allowanceEntry: ["text", ({ entries }) => entries.allowance],
      usageEntry: ["text", ({ entries }) => entries.usage],
      creditsEntry: ["text", ({ entries }) => entries.credits],
      creditUsageEntry: ["text", ({ entries }) => entries.creditUsage]
    })
    // Locks rows in the lock order, so that the conditions hold for the changed rows.
    return decodeReplies(
      directly(sql`
        with request as materialized (${request}), held as materialized (
          select request.*, turn.cost_micros, reservation.*
          from request
          cross join lateral (
            select reservation_id, cost_micros + held_micros as cost_micros from turns
            where id = request.message_id and own_calls = 0 and cost_micros + held_micros <= cost_limit
              and (unit_limit is null or unit_limit >= units)
            for update ${skipLocked}
          ) as turn
          cross join lateral (
            select id as held_by, user_id as payer_id, cause, daily_units, credit_units from reservations
            where id = turn.reservation_id and state = 'reserved' and daily_units + credit_units <= request.units
            for update ${skipLocked}
          ) as reservation
        ), ended as materialized (
          select held.*
          from held
          cross join lateral (select from users where id = payer_id for key share ${skipLocked}) as payer
          cross join lateral (
            select session_id, agent_id from messages where id = message_id and state = 'pending' and ${isOfGroup}
            for no key update ${skipLocked}
          ) as message
          cross join lateral (select from agents where id = message.agent_id for key share ${skipLocked}) as agent
          cross join lateral (
            select from chat_sessions where id = message.session_id for no key update ${skipLocked}
          ) as session
        ), removed as (
          delete from turns using ended where turns.id = message_id
        ), settled as (
          update reservations
          set state = 'settled', settled_daily_units = ended.daily_units, settled_credit_units = ended.credit_units,
            model = ended.model
          from ended where reservations.id = held_by
          returning ended.*
        ), ${bookSettled(sql)}, ${answerEnded(sql)}
        select daily_units + credit_units as charged, reply.*
        from ended join reply on reply.id = reply_id`)
    )
  }
}
