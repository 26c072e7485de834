import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/**
 * Who paid for the model calls of a turn: its owner, by keys of his own, or the platform, be it for one of them. Null while none
 * was made. Tasks are turns that no message stands for; their rows are there while they are in work.
 */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    alter table messages add column called_by text check (called_by in ('owner', 'platform'));
    create table agent_tasks (
      id text primary key,
      user_id text not null references users on delete cascade,
      agent_id text not null references agents on delete cascade,
      called_by text check (called_by in ('owner', 'platform')),
      created_at timestamptz not null
    );
    create index agent_tasks_of_user on agent_tasks (user_id);
    create index agent_tasks_of_agent on agent_tasks (agent_id);
  `
)
