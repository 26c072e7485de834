import type { UsdMicros } from "@berth/domain/shared/Money"
import type { AgentTurn } from "@berth/domain/interaction/turns/TurnRepository"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import type { Directly } from "../DirectQueries.ts"
import { selectRequests } from "../RequestTable.ts"
import { mapRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"

/** Begin or end of a model call of a turn: the changes of the turn's counters. */
export interface CallChange {
  readonly id: string
  readonly turn: AgentTurn
  readonly begins: boolean
  readonly ownCalls: number
  readonly platformCalls: number
  readonly costMicros: number
  readonly heldMicros: number
  /** Maximum cost of a turn that has an open reservation. */
  readonly within: UsdMicros | null
}

const decodeChanged = mapRows(Schema.Struct({ id: Schema.String }), ({ id }) => [id, true] as const)

/**
 * Counts the changes of several turns in one statement, one of each turn. Returns the counted changes. Unless it waits
 * for locks, skips locked turns.
 */
export const makeCallGroup = (sql: SqlClient, directly: Directly, { waits }: { readonly waits: boolean }) => {
  const skipLocked = sql.literal(waits ? "" : "skip locked")
  return (requests: ReadonlyArray<CallChange>) => {
    const request = selectRequests(sql, requests, {
      id: ["text", ({ id }) => id],
      turnId: ["text", ({ turn }) => toStorableText(turn.turnId)],
      userId: ["text", ({ turn }) => turn.userId],
      agentId: ["text", ({ turn }) => toStorableText(turn.agentId)],
      begins: ["boolean", ({ begins }) => begins],
      ownCalls: ["integer", ({ ownCalls }) => ownCalls],
      platformCalls: ["integer", ({ platformCalls }) => platformCalls],
      costMicros: ["bigint", ({ costMicros }) => costMicros],
      heldMicros: ["bigint", ({ heldMicros }) => heldMicros],
      within: ["bigint", ({ within }) => within]
    })
    return decodeChanged(
      directly(sql`
        with request as materialized (${request}), counted as materialized (
          select request.*
          from request cross join lateral (
            select from turns
            where id = turn_id and user_id = request.user_id and agent_id = request.agent_id
              -- The end of a call may be repeated.
              and (begins or open_calls > 0)
              and (within is null or (
                not own_keys_only and turns.cost_micros + turns.held_micros + request.cost_micros + request.held_micros <= within
                and exists (select from reservations where id = reservation_id and state = 'reserved')
              ))
            for no key update ${skipLocked}
          ) as turn
        )
        update turns
        set call_begun = call_begun or begins, open_calls = open_calls + case when begins then 1 else -1 end,
          own_calls = turns.own_calls + counted.own_calls, platform_calls = turns.platform_calls + counted.platform_calls,
          cost_micros = turns.cost_micros + counted.cost_micros, held_micros = turns.held_micros + counted.held_micros
        from counted where turns.id = turn_id
        returning counted.id`)
    )
  }
}
