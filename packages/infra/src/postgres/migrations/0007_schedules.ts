/** Schedules of agents and their runs. */
export default String.raw`
create table schedules (
  id text primary key,
  agent_id text not null references agents on delete cascade,
  -- The heartbeat mirrors the agent's configuration.
  kind text not null check (kind in ('prompt', 'skill', 'heartbeat')),
  cron text not null,
  timezone text not null,
  prompt text,
  skill_id text,
  input jsonb,
  on_missed text not null check (on_missed in ('once', 'all', 'skip')),
  enabled boolean not null,
  -- Null for an expression without a further time.
  next_due_at timestamptz,
  -- Time of the decision on next_due_at, by the database's clock; null until a worker has decided.
  planned_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index schedules_of_agent on schedules (agent_id, created_at);
create unique index schedules_heartbeat_key on schedules (agent_id) where kind = 'heartbeat';
create index schedules_due on schedules (next_due_at) where enabled;
create index schedules_planned on schedules (planned_at) where enabled;
create index schedules_unplanned on schedules (id) where enabled and planned_at is null;

create table agent_runs (
  id text primary key,
  agent_id text not null references agents on delete cascade,
  schedule_id text references schedules on delete cascade,
  due_at timestamptz,
  prompt text,
  skill_id text,
  input jsonb,
  state text not null
    check (state in ('waiting', 'running', 'succeeded', 'failed', 'refused', 'skipped', 'missed', 'canceled')),
  reason text,
  result text,
  units integer check (units >= 0),
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  check ((schedule_id is null) = (due_at is null)),
  -- A time of a schedule runs once.
  constraint agent_runs_tick_key unique (schedule_id, due_at)
);
create index agent_runs_of_agent on agent_runs (agent_id, created_at);
create index agent_runs_in_progress on agent_runs (created_at) where ended_at is null;
create index agent_runs_by_end on agent_runs (ended_at) where ended_at is not null;

create function mirror_heartbeat() returns trigger
language plpgsql
as $$
begin
  if new.config ->> 'heartbeat' is null then
    delete from schedules where agent_id = new.id and kind = 'heartbeat';
  else
    insert into schedules (id, agent_id, kind, cron, timezone, on_missed, enabled, created_at, updated_at)
    values ('sch_' || substr(new.id, 5), new.id, 'heartbeat', new.config ->> 'heartbeat',
      coalesce(new.config ->> 'timezone', 'UTC'), 'skip', true, now(), now())
    on conflict (agent_id) where kind = 'heartbeat' do update
    set cron = excluded.cron, timezone = excluded.timezone, next_due_at = null, planned_at = null, updated_at = now()
    where schedules.cron <> excluded.cron or schedules.timezone <> excluded.timezone;
    if found then
      perform pg_notify('berth_schedules', '');
    end if;
  end if;
  return null;
end $$;
create trigger agents_heartbeat after insert or update of config on agents
  for each row execute function mirror_heartbeat();
update agents set config = config where config ->> 'heartbeat' is not null;
`
