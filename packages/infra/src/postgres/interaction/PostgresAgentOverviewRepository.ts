import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { Sender } from "@berth/domain/interaction/Conversation"
import { overviewTextLength } from "@berth/domain/interaction/overviews/AgentOverview"
import { AgentOverviewRepository } from "@berth/domain/interaction/overviews/AgentOverviewRepository"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import * as Repository from "../Repository.ts"
import { decodeRows } from "../Rows.ts"

/** Number of newest messages searched for the model of a reply. */
const newestMessages = 20

const MarkRow = Schema.Struct({ agentId: AgentId, ownerId: UserId, mark: Schema.String })
const OverviewRow = Schema.Struct({
  agentId: AgentId,
  status: AgentStatus,
  model: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  sender: Schema.NullOr(Sender),
  text: Schema.NullOr(Schema.String),
  at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  unitsToday: Schema.Int.pipe(Schema.brand("Units"))
})

export const layer = Repository.layerEffect(
  AgentOverviewRepository,
  Effect.map(SqlClient, (sql) =>
    AgentOverviewRepository.of({
      listMarks: (owners: ReadonlyArray<UserId>) =>
        sql`
          select id as agent_id, owner_id, concat_ws(' ', status, (
            select last_activity from chat_sessions
            where agent_id = agents.id and user_id = agents.owner_id order by last_activity desc limit 1
          )) as mark
          from agents where ${sql.in("owner_id", owners)}`.pipe(decodeRows(MarkRow)),
      list: Effect.fnUntraced(function* (agents: ReadonlyArray<AgentId>, dayStart: DateTime.Utc) {
        const rows = yield* sql`
          select agents.id as agent_id, agents.status, answered.model, answered.provider, newest.sender,
            left(newest.content, ${overviewTextLength}::integer) as text, newest.created_at as at,
            coalesce((
              select sum(units) from messages
              where agent_id = agents.id and created_at >= ${DateTime.toDate(dayStart)}
            ), 0)::integer as units_today
          from agents
          left join lateral (
            select sender, content, created_at from messages where agent_id = agents.id
            order by created_at desc, seq desc limit 1
          ) as newest on true
          left join lateral (
            select model, provider from (
              select model, provider from messages where agent_id = agents.id
              order by created_at desc, seq desc limit ${newestMessages}
            ) as recent where model is not null limit 1
          ) as answered on true
          where ${sql.in("agents.id", agents)}
          order by agents.created_at desc, agents.id desc`.pipe(decodeRows(OverviewRow))
        return rows.map(({ at, sender, text, ...overview }) => ({
          ...overview,
          lastMessage: at === null || sender === null || text === null ? null : { sender, text, createdAt: at }
        }))
      })
    })
  )
)
