import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** What was bought, given and taken back; what an account may store; and the ways to a user's billing history. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    -- One row for a cause. It may be told of its reversal first: then nothing but the cause and that moment is in it.
    create table purchases (
      id text primary key,
      cause text not null constraint purchases_cause_key unique,
      user_id text references users on delete set null,
      former_user text,
      kind text check (kind in ('purchase', 'grant', 'subscription')),
      description text,
      units bigint check (units >= 0),
      -- In the smallest unit of the currency.
      amount bigint check (amount >= 0),
      currency text,
      booked_at timestamptz,
      reversed_at timestamptz,
      check (booked_at is not null or reversed_at is not null),
      check ((booked_at is null) = (kind is null or units is null or amount is null or currency is null or description is null))
    );
    create index purchases_of_user on purchases (user_id, booked_at desc, id desc) where booked_at is not null;
    create index purchases_reversed_of_user on purchases (user_id, reversed_at desc, id desc)
      where booked_at is not null and reversed_at is not null;

    create index reservations_history_of_user on reservations (user_id, created_at desc, id desc)
      where state = 'settled' and booked_daily_units + booked_credit_units > 0;
    -- Credits that were given otherwise than by a purchase.
    create index ledger_entries_grants_of_user on ledger_entries (user_id, created_at desc, id desc)
      where account = 'credits' and cause = 'credits-added';

    alter table ledger_entries drop constraint ledger_entries_account_check;
    alter table ledger_entries add constraint ledger_entries_account_check
      check (account in ('allowance', 'credits', 'usage', 'grants', 'purchases'));

    -- Credits that were spent before their money went back are owed: the balance is below zero, by no more than went back.
    alter table users add column reversed_units bigint not null default 0 check (reversed_units >= 0);
    alter table users drop constraint users_credit_units_check;
    alter table users add constraint users_credit_units_check check (credit_units >= -reversed_units);

    create table storage_entitlements (
      user_id text primary key references users on delete cascade,
      tier text not null check (tier in ('included', 'upgraded')),
      updated_at timestamptz not null
    );
  `
)
