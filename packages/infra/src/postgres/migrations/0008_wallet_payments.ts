export default String.raw`
-- Micro USDC.
create table wallet_limits (
  agent_id text primary key references agents on delete cascade,
  per_call bigint not null check (per_call >= 0),
  per_day bigint not null check (per_day >= 0),
  per_agent bigint not null check (per_agent >= 0),
  confirm_above bigint not null check (confirm_above >= 0),
  updated_at timestamptz not null
);

create table wallet_payments (
  id text primary key,
  user_id text not null references users on delete cascade,
  agent_id text not null references agents on delete cascade,
  turn_id text not null,
  kind text not null,
  status text not null,
  amount bigint not null check (amount > 0),
  payee text not null,
  resource text,
  fingerprint text not null,
  -- The signed payment, stored before it leaves.
  signed text,
  reference text,
  nonce bigint,
  valid_before bigint,
  reason text,
  created_at timestamptz not null,
  -- When the amount began to count.
  reserved_at timestamptz,
  touched_at timestamptz not null,
  check (status not in ('sent', 'confirmed') or (signed is not null and reference is not null))
);
create unique index wallet_payments_of_turn on wallet_payments (agent_id, turn_id, fingerprint);
create index wallet_payments_of_agent on wallet_payments (agent_id, created_at desc);
create unique index wallet_payments_by_nonce on wallet_payments (user_id, nonce) where nonce is not null;
create index wallet_payments_unfinished on wallet_payments (touched_at) where status in ('reserved', 'sent');
`
