export default String.raw`
-- A signed payment can be mined after its agent is deleted, and later ones of the wallet wait for its nonce.
alter table wallet_payments alter column agent_id drop not null;
alter table wallet_payments drop constraint wallet_payments_agent_id_fkey;
alter table wallet_payments
  add constraint wallet_payments_agent_id_fkey foreign key (agent_id) references agents on delete set null;

-- Sum of the confirmed payments that retention has deleted.
alter table wallet_limits add column spent_before bigint not null default 0 check (spent_before >= 0);
`
