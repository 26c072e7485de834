import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table chat_sessions (
      id text primary key,
      user_id text not null references users on delete cascade,
      agent_id text not null references agents on delete cascade,
      status text not null check (status in ('active')),
      last_seq integer not null default 0,
      message_count integer not null default 0,
      created_at timestamptz not null,
      last_activity timestamptz not null
    );
    create index chat_sessions_of_user on chat_sessions (user_id, last_activity desc);
    create index chat_sessions_of_agent on chat_sessions (agent_id, user_id, last_activity desc);

    create table messages (
      id text primary key,
      session_id text not null references chat_sessions on delete cascade,
      user_id text not null references users on delete cascade,
      agent_id text not null references agents on delete cascade,
      seq integer not null check (seq > 0),
      sender text not null check (sender in ('user', 'agent')),
      content text not null,
      topic text,
      platform text not null,
      state text not null check (state in ('pending', 'answered', 'failed')),
      lease_until timestamptz check ((lease_until is not null) = (state = 'pending')),
      reservation_id text,
      created_at timestamptz not null,
      constraint messages_seq_key unique (session_id, seq)
    );
    create index messages_of_user on messages (user_id, created_at desc, seq desc);
    create index messages_of_agent on messages (agent_id);
    create index messages_pending on messages (session_id, seq) where state = 'pending';
    create index messages_leased on messages (lease_until) where state = 'pending';
  `
)
