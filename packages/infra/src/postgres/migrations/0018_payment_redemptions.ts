import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table payment_redemptions (
      -- A challenge is written down when somebody meets it, and not before.
      challenge_id text primary key,
      transaction_hash text not null constraint payment_redemptions_transaction_key unique,
      plugin text not null,
      chain_id bigint not null,
      currency text not null,
      recipient text not null,
      -- In the token's smallest units.
      amount numeric(78) not null,
      claim_id text not null,
      lease_until timestamptz not null,
      claimed_at timestamptz not null default now(),
      settled_at timestamptz,
      answered_at timestamptz,
      check (answered_at is null or settled_at is not null)
    );
    create index payment_redemptions_by_age on payment_redemptions (claimed_at);
  `
)
