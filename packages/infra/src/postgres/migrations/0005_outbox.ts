import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table outbox (
      id text primary key,
      position bigint not null generated always as identity,
      queue text not null,
      name text not null,
      payload jsonb not null,
      trace jsonb,
      -- How often publishing it failed: one that keeps failing goes behind the others instead of blocking them.
      failures integer not null default 0,
      created_at timestamptz not null,
      published_at timestamptz
    );
    create index outbox_unpublished on outbox (failures, position) where published_at is null;
    create index outbox_published on outbox (published_at) where published_at is not null;
  `
)
