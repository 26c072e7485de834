import { type AgentTurn, TurnKeys } from "@berth/domain/interaction/conversations/TurnKeys"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"

const Ended = Schema.Struct({ ownKeys: Schema.Boolean })

/** Rows of dead processes are deleted at this age. */
const taskRetention = { hours: 24 }

export const layer: Layer.Layer<TurnKeys, never, SqlClient> = Layer.effect(
  TurnKeys,
  Effect.map(SqlClient, (sql) => {
    const byOwner = ({ agentId, turnId, userId }: AgentTurn) => sql`
      with message as (
        update messages set called_by = 'owner'
        where id = ${toStorableText(turnId)} and user_id = ${userId} and agent_id = ${agentId}
          and state = 'pending' and called_by is null
      )
      update agent_tasks set called_by = 'owner'
      where id = ${toStorableText(turnId)} and user_id = ${userId} and agent_id = ${agentId} and called_by is null`

    // Lock order: rows by id, against deadlocks.
    const byPlatform = ({ agentId, userId }: AgentTurn) => sql`
      with of_agent as materialized (
        select exists (
          select from messages where user_id = ${userId} and state = 'pending' and agent_id = ${agentId}
          union all
          select from agent_tasks where user_id = ${userId} and agent_id = ${agentId}
        ) as is_busy
      ), messages_in_work as (
        select messages.id from messages, of_agent
        where user_id = ${userId} and state = 'pending' and (agent_id = ${agentId} or not of_agent.is_busy)
          and called_by is distinct from 'platform'
        order by messages.id for update of messages
      ), tasks_in_work as (
        select agent_tasks.id from agent_tasks, of_agent
        where user_id = ${userId} and (agent_id = ${agentId} or not of_agent.is_busy)
          and called_by is distinct from 'platform'
        order by agent_tasks.id for update of agent_tasks
      ), noted as (
        update messages set called_by = 'platform' from messages_in_work where messages.id = messages_in_work.id
      )
      update agent_tasks set called_by = 'platform' from tasks_in_work where agent_tasks.id = tasks_in_work.id`

    return TurnKeys.of({
      recordCall: Effect.fn("TurnKeys.recordCall")(function* (call: AgentTurn & { readonly ownKey: boolean }) {
        yield* Effect.orDie(call.ownKey ? byOwner(call) : byPlatform(call))
      }),
      begin: Effect.fn("TurnKeys.begin")(function* ({ agentId, turnId, userId }: AgentTurn) {
        const now = yield* DateTime.now
        yield* sql`
          with forgotten as (
            delete from agent_tasks
            where user_id = ${userId} and created_at < ${DateTime.toDate(DateTime.subtract(now, taskRetention))}
          )
          insert into agent_tasks (id, user_id, agent_id, created_at)
          select ${toStorableText(turnId)}, owner_id, id, ${DateTime.toDate(now)}::timestamptz
          from agents where id = ${agentId} and owner_id = ${userId}`.pipe(Effect.orDie)
      }),
      end: Effect.fn("TurnKeys.end")(function* ({ turnId, userId }: AgentTurn) {
        const ended = yield* sql`
          delete from agent_tasks where id = ${toStorableText(turnId)} and user_id = ${userId}
          returning called_by is not distinct from 'owner' as own_keys`.pipe(decodeFirstRow(Ended), Effect.orDie)
        return Option.exists(ended, ({ ownKeys }) => ownKeys)
      })
    })
  })
)
