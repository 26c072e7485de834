import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table idempotency_keys (
      -- Digest of principal, route and key.
      id text primary key,
      claim_id text not null,
      request_hash text not null,
      lease_until timestamptz not null,
      -- The first answer, sealed: it may carry what only its caller should see.
      response_sealed text,
      expires_at timestamptz not null
    );
    create index idempotency_keys_by_expiry on idempotency_keys (expires_at);
  `
)
