import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    alter table idempotency_keys
      -- What the request did, sealed, written in the transaction that did it.
      add column outcome_sealed text,
      -- Survives that the claim passes on: the request's name towards systems outside.
      add column first_claim_id text;
    update idempotency_keys set first_claim_id = claim_id;
    alter table idempotency_keys alter column first_claim_id set not null;

    alter table outbox
      -- Whose turn an entry takes: its queue and owner, or one of its own.
      add column lane text,
      -- When its job was done or given up; until then it counts as in flight.
      add column settled_at timestamptz;
    update outbox set lane = queue || ' ' || id, settled_at = published_at;
    alter table outbox alter column lane set not null;
    drop index outbox_unpublished;
    create index outbox_unpublished on outbox (lane, failures, position) where published_at is null;
    create index outbox_in_flight on outbox (lane, published_at) where published_at is not null and settled_at is null;
  `
)
