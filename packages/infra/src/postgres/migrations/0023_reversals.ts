import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** Money that went back, by refund or dispute, wholly or in part. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table purchase_reversals (
      -- Any name of the purchase, which may be told of later.
      payment text not null,
      -- The charge or the dispute.
      source text not null,
      amount bigint not null check (amount >= 0),
      version bigint not null,
      primary key (payment, source)
    );

    alter table purchases
      add column reversed_units bigint not null default 0 check (reversed_units >= 0),
      add column reversed_amount bigint not null default 0 check (reversed_amount >= 0);
    update purchases set reversed_units = units, reversed_amount = amount
      where booked_at is not null and reversed_at is not null;

    create index card_purchases_booked_as on card_purchases (booked_as);
  `
)
