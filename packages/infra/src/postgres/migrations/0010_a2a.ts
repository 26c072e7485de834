/** Messages between agents. */
export default String.raw`
create table a2a_settings (
  agent_id text primary key references agents on delete cascade,
  -- Ids of users and agents that may write to the agent.
  allow text[] not null default '{}',
  -- Ids of skills that they may call.
  skills text[] not null default '{}'
);

create table a2a_messages (
  id text primary key,
  from_agent text not null references agents on delete cascade,
  to_agent text not null references agents on delete cascade,
  -- The sender's id of the message.
  message_id text not null,
  envelope jsonb not null,
  status text not null check (status in ('waiting', 'answered', 'failed', 'refused', 'expired')),
  reply text,
  reason text,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint a2a_messages_key unique (from_agent, message_id),
  check ((status = 'waiting') = (ended_at is null))
);
create index a2a_messages_of_sender on a2a_messages (from_agent, created_at desc, id desc);
create index a2a_messages_of_receiver on a2a_messages (to_agent, created_at desc, id desc);
create index a2a_messages_by_end on a2a_messages (ended_at) where ended_at is not null;
`
