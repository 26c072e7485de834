import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table linked_identities (
      provider text not null,
      issuer text not null,
      subject text not null,
      user_id text not null references users on delete cascade,
      linked_at timestamptz not null,
      primary key (provider, issuer, subject)
    );
    create index linked_identities_of_user on linked_identities (user_id);

    create table used_oauth_states (
      hash text primary key,
      expires_at timestamptz not null
    );
    create index used_oauth_states_by_expiry on used_oauth_states (expires_at);

    create table social_tokens (
      hash text primary key,
      -- All tokens of a session are a family: they end with it.
      session_id text not null references sessions on delete cascade,
      exchanged_at timestamptz,
      expires_at timestamptz not null
    );
    create index social_tokens_of_session on social_tokens (session_id);
  `
)
