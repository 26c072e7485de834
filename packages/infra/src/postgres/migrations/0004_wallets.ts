export default String.raw`
-- wallets
create table user_wallets (
  user_id text not null references users on delete cascade,
  kind text not null check (kind in ('user', 'cdp')),
  address text not null,
  key_sealed text not null,
  -- Whether a caller gave the key, and so may know it.
  key_given boolean not null,
  -- Last known balance in wei.
  balance numeric(78),
  created_at timestamptz not null,
  primary key (user_id, kind)
);
`
