import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** Who users are at the card processor, and what they try to buy there. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table card_customers (
      user_id text not null references users on delete cascade,
      currency text not null check (currency in ('GBP', 'USD')),
      customer_id text not null,
      created_at timestamptz not null,
      primary key (user_id, currency)
    );

    create table purchase_attempts (
      -- The idempotency key at the card processor.
      id text primary key,
      user_id text not null references users on delete cascade,
      -- What is bought, and in which way.
      what text not null,
      -- What the request is called in all its repetitions, where it has a key.
      reference text,
      state text not null check (state in ('open', 'paid', 'refused')),
      -- Where a saved card is charged: whose, and for how many credits and how much (cents, pence).
      customer_id text,
      credits bigint,
      amount bigint,
      currency text,
      created_at timestamptz not null,
      -- When it was last tried: until some time after that, the card processor may still be charging.
      tried_at timestamptz not null,
      check (num_nulls(customer_id, credits, amount, currency) in (0, 4))
    );
    create unique index purchase_attempts_reference_key on purchase_attempts (user_id, what, reference)
      where state <> 'refused' and reference is not null;
    create index purchase_attempts_of_user on purchase_attempts (user_id, what, created_at);
    create index purchase_attempts_open on purchase_attempts (tried_at) where state = 'open' and customer_id is not null;
    create index purchase_attempts_by_age on purchase_attempts (created_at);
  `
)
