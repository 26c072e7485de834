import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table subscriptions (
      user_id text primary key references users on delete cascade,
      plan text not null,
      status text not null check (status in ('active', 'past_due', 'canceled')),
      updated_at timestamptz not null
    );

    -- Units of the plan that a UTC day has booked or holds reserved.
    create table unit_days (
      user_id text not null references users on delete cascade,
      day date not null,
      used bigint not null default 0 check (used >= 0),
      primary key (user_id, day)
    );

    -- What is held for a call, from the day's units and from credits, and what of it was booked in the end.
    create table reservations (
      id text primary key,
      user_id text not null references users on delete cascade,
      cause text not null,
      day date not null,
      state text not null check (state in ('reserved', 'settled', 'released')),
      daily_units bigint not null check (daily_units >= 0),
      credit_units bigint not null check (credit_units >= 0),
      booked_daily_units bigint not null default 0 check (booked_daily_units between 0 and daily_units),
      booked_credit_units bigint not null default 0 check (booked_credit_units between 0 and credit_units),
      created_at timestamptz not null
    );
    -- A cause is paid for once; one that was released cost nothing and may be tried again.
    create unique index reservations_cause_key on reservations (user_id, cause) where state <> 'released';
    create index reservations_open on reservations (created_at) where state = 'reserved';

    -- Double entry: the units of one transaction add up to zero. Outlives its user, without his name.
    create table ledger_entries (
      id text primary key,
      transaction_id text not null,
      user_id text references users on delete set null,
      account text not null check (account in ('allowance', 'credits', 'usage', 'grants')),
      units bigint not null check (units <> 0),
      cause text not null,
      created_at timestamptz not null
    );
    create index ledger_entries_of_user on ledger_entries (user_id, created_at);
    create index ledger_entries_of_transaction on ledger_entries (transaction_id);
  `
)
