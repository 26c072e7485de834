import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    -- How many pieces the answer was told in, and why there is none: what ends the stream for who comes back to it.
    alter table messages add column told integer check (told >= 0), add column failure text;
    create index messages_pending_of_user on messages (user_id) where state = 'pending';

    -- Pieces of answers, some to a row, for a few minutes. Without a foreign key: one deleted conversation must not keep the
    -- pieces of others from being written, and what is left of it goes with the rest.
    create table answer_events (
      message_id text not null,
      -- Number of the first piece.
      n integer not null check (n > 0),
      pieces integer not null check (pieces > 0),
      -- Not jsonb, which takes neither U+0000 nor half a surrogate pair; a piece may end in the middle of one.
      texts json not null,
      created_at timestamptz not null,
      primary key (message_id, n)
    );
    create index answer_events_by_age on answer_events (created_at);
  `
)
