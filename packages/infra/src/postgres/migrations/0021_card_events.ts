import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** What the card processor tells, and what it has told of who pays for what. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table card_events (
      -- The processor's own: an event that is sent again is the same one.
      id text primary key,
      type text not null,
      created_at timestamptz not null,
      -- As it came, apart from what a jsonb cannot hold; nothing once its customer's account is gone.
      payload jsonb,
      state text not null check (state in ('stored', 'applied', 'unclear', 'unreadable', 'parked', 'dropped')),
      -- Whose it was; goes with him.
      user_id text references users on delete cascade,
      -- Whom it waits for.
      payer_id text,
      email text,
      received_at timestamptz not null default now(),
      -- When a job for it was last asked for.
      asked_at timestamptz not null default now()
    );
    create index card_events_of_user on card_events (user_id);
    create index card_events_open on card_events (asked_at) where state in ('stored', 'parked', 'unclear');
    create index card_events_parked_payer on card_events (payer_id) where state = 'parked';
    create index card_events_parked_email on card_events (lower(email)) where state = 'parked';
    create index card_events_by_age on card_events (received_at);

    -- Customers at the card processor, and which user each is as far as anybody has said.
    create table card_payers (
      id text primary key,
      user_id text not null references users on delete cascade,
      -- When that was said, and how much it counts.
      moment jsonb not null
    );
    create index card_payers_of_user on card_payers (user_id);

    create table card_subscriptions (
      id text primary key,
      payer_id text not null,
      user_id text not null references users on delete cascade,
      -- The newest that was said of each thing, with the moment it was said.
      facts jsonb not null
    );
    create index card_subscriptions_of_user on card_subscriptions (user_id);
    create index card_subscriptions_of_payer on card_subscriptions (payer_id);

    -- Each name of a purchase of credits, and the one that it was booked by.
    create table card_purchases (
      name text primary key,
      booked_as text not null,
      user_id text not null references users on delete cascade
    );
    create index card_purchases_of_user on card_purchases (user_id);

    alter table subscriptions
      add column customer_id text,
      add column subscription_id text,
      add column current_period_end timestamptz,
      add column last_event_at timestamptz;
    -- Without the processor's ids, which lead to who it was.
    alter table former_subscriptions
      add column current_period_end timestamptz,
      add column last_event_at timestamptz;
  `
)
