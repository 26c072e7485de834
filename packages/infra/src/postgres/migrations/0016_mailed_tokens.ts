import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    -- One of each purpose a user; the token itself is in the mail only.
    create table mailed_tokens (
      user_id text not null references users on delete cascade,
      purpose text not null check (purpose in ('password-reset', 'email-verification')),
      -- What asked for it. These ids sort by time.
      request_id text not null,
      token_hash text not null unique,
      email text not null,
      expires_at timestamptz not null,
      -- When it was used or taken back. The row stays until it expires, so that its request is known.
      spent_at timestamptz,
      primary key (user_id, purpose)
    );
    create index mailed_tokens_by_expiry on mailed_tokens (expires_at);

    -- What a registration by a referral code gives. It outlives its referrer.
    create table referral_rewards (
      newcomer_id text primary key references users on delete cascade,
      referrer_id text references users on delete set null,
      newcomer_units bigint not null check (newcomer_units >= 0),
      referrer_units bigint not null check (referrer_units >= 0),
      created_at timestamptz not null,
      -- When the credits became the users' own.
      paid_at timestamptz
    );
    create index referral_rewards_of_referrer on referral_rewards (referrer_id, created_at);
  `
)
