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
  `
)
