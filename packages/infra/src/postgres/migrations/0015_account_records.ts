import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** What a user sees of his sessions, and what is left of an account that was deleted. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    alter table sessions
      add column last_seen_at timestamptz,
      -- Of the sign-in: what the client called itself, and the network it came from.
      add column user_agent text,
      add column address text;
    update sessions set last_seen_at = greatest(created_at, expires_at - interval '30 days');
    alter table sessions alter column last_seen_at set not null;

    -- Digest of the principal alone, so that all keys of one can be found.
    alter table idempotency_keys add column principal_hash text;
    create index idempotency_keys_of_principal on idempotency_keys (principal_hash);

    -- For the cascade: the unique index leaves out reservations that were released.
    create index reservations_of_user on reservations (user_id);

    -- Records of money outlive their user under a name that was drawn by lot when he left. It stands nowhere beside his id, and
    -- neither do the moments of his leaving that could bring the two together.
    alter table ledger_entries add column former_user text;
    alter table model_usage add column former_user text;
    create table former_subscriptions (
      former_user text primary key,
      plan text not null,
      status text not null,
      updated_at timestamptz not null
    );

    -- Ids that were users' once: what still lies about under such an id may be deleted.
    create table deleted_users (
      id text primary key,
      deleted_on date not null
    );
  `
)
