import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create table agents (
      id text primary key,
      owner_id text not null references users on delete cascade,
      name text not null,
      model text not null,
      custom_model text,
      status text not null check (status in ('provisioning', 'running', 'active', 'stopped', 'error')),
      config jsonb not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    );
    create index agents_of_owner on agents (owner_id, created_at desc, id desc);
    create index agents_in_provisioning on agents (updated_at) where status = 'provisioning';

    create table instances (
      user_id text primary key references users on delete cascade,
      subdomain text not null unique,
      desired text not null check (desired in ('up', 'down')),
      status text not null check (status in ('provisioning', 'running', 'active', 'stopped', 'error')),
      started_at timestamptz,
      runtime_version text,
      -- Sealed tokens are opened for use; the hash is for looking one up.
      cell_token_sealed text,
      cell_token_hash text unique,
      gateway_token_sealed text,
      created_at timestamptz not null
    );
    create index instances_desired_up on instances (created_at) where desired = 'up';
  `
)
