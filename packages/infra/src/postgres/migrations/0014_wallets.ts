import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table wallets (
      -- With its checksum.
      address text not null,
      user_id text not null references users on delete cascade,
      linked_at timestamptz not null
    );
    create unique index wallets_address_key on wallets (lower(address));
    create index wallets_of_user on wallets (user_id);

    create table used_wallet_nonces (
      hash text primary key,
      expires_at timestamptz not null
    );
    create index used_wallet_nonces_by_expiry on used_wallet_nonces (expires_at);
  `
)
