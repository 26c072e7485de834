import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table credentials (
      user_id text not null references users on delete cascade,
      key text not null check (key in ('anthropic', 'openai', 'openrouter', 'google', 'telegram', 'discord', 'whatsapp')),
      -- Sealed for this owner and this key: it opens in no other row.
      sealed text not null,
      updated_at timestamptz not null,
      primary key (user_id, key)
    );
  `
)
