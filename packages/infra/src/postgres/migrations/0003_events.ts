/** Outbound events, the endpoints that receive them, and their deliveries. */
export default String.raw`
create table events (
  id text primary key,
  -- Order of changes: an event that was committed before another began has the lower position.
  position bigint not null generated always as identity,
  kind text not null,
  -- The account, or the owner of the subject. Null for deleted accounts.
  user_id text references users on delete cascade,
  data jsonb not null,
  once_key text constraint events_once_key unique,
  trace jsonb,
  created_at timestamptz not null
);
create index events_of_user on events (user_id);
create index events_by_age on events (created_at);

create table webhook_endpoints (
  id text primary key,
  user_id text not null references users on delete cascade,
  url text not null,
  kinds text[] not null,
  -- One delivery at a time, in the order of the events.
  is_ordered boolean not null,
  secret_sealed text not null,
  -- Signs too until previous_secret_until.
  previous_secret_sealed text,
  previous_secret_until timestamptz,
  -- Time of the first failure since the last success.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null,
  check ((disabled_at is null) = (disabled_reason is null))
);
create index webhook_endpoints_of_user on webhook_endpoints (user_id, created_at desc, id desc);
create index webhook_endpoints_of_kinds on webhook_endpoints using gin (kinds) where disabled_at is null;

create table webhook_deliveries (
  -- Derived from event and endpoint.
  id text primary key,
  endpoint_id text not null references webhook_endpoints on delete cascade,
  event_id text not null references events on delete cascade,
  -- That of the event.
  position bigint not null,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  -- Attempts since the event, or since the last replay. An attempt belongs to the worker that counted it.
  attempts integer not null default 0,
  due_at timestamptz not null,
  claimed_until timestamptz,
  attempted_at timestamptz,
  response_status integer,
  failure text,
  created_at timestamptz not null
);
create unique index webhook_deliveries_of_endpoint on webhook_deliveries (endpoint_id, position desc);
create index webhook_deliveries_of_event on webhook_deliveries (event_id);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at) where status = 'pending';
create index webhook_deliveries_in_order on webhook_deliveries (endpoint_id, position) where status = 'pending';
`
