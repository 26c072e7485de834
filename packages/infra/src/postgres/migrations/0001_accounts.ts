import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table users (
      id text primary key,
      email text not null,
      email_verified_at timestamptz,
      name text not null,
      password_hash text,
      plan text not null default 'free',
      -- Hundredths of a credit, which are units: whole numbers, so that no sum is ever rounded.
      credit_units bigint not null default 0 check (credit_units >= 0),
      two_factor_enabled boolean not null default false,
      notifications jsonb not null,
      referral_code text not null,
      created_at timestamptz not null
    );
    create unique index users_email_key on users (lower(email));
    create unique index users_referral_code_key on users (lower(referral_code));

    create table sessions (
      id text primary key,
      user_id text not null references users on delete cascade,
      token_hash text not null unique,
      created_at timestamptz not null,
      expires_at timestamptz not null
    );
    create index sessions_of_user on sessions (user_id);
    create index sessions_by_expiry on sessions (expires_at);
  `
)
