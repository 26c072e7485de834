import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table model_usage (
      id bigint primary key generated always as identity,
      user_id text references users on delete set null,
      agent_id text references agents on delete set null,
      provider text not null,
      model text not null,
      prompt_tokens integer not null check (prompt_tokens >= 0),
      completion_tokens integer not null check (completion_tokens >= 0),
      cost_usd numeric not null check (cost_usd >= 0),
      created_at timestamptz not null
    );
    create index model_usage_of_user on model_usage (user_id, created_at);
    create index model_usage_of_agent on model_usage (agent_id, created_at);
    create index model_usage_by_time on model_usage (created_at);
  `
)
