/** Tasks of the A2A protocol, each of them a turn, and their push notifications. */
export default String.raw`
create table a2a_tasks (
  id text primary key,
  agent_id text not null references agents on delete cascade,
  caller_id text not null references users on delete cascade,
  -- The client's names of the conversation and of the message.
  context_id text not null,
  client_message_id text not null,
  content jsonb not null,
  -- The message of the turn.
  turn_id text not null references messages on delete cascade,
  state text not null default 'working' check (state in ('working', 'completed', 'failed', 'canceled')),
  cancel_requested_at timestamptz,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint a2a_tasks_message_key unique (agent_id, caller_id, client_message_id),
  constraint a2a_tasks_turn_key unique (turn_id),
  check ((state = 'working') = (ended_at is null))
);
create index a2a_tasks_of_agent on a2a_tasks (agent_id, created_at desc, id desc);
create index a2a_tasks_of_caller on a2a_tasks (caller_id, agent_id, created_at desc, id desc);
create index a2a_tasks_by_end on a2a_tasks (ended_at) where ended_at is not null;

-- The outcome of a turn, whichever process stores it, ends its task in the same transaction.
create function end_a2a_task() returns trigger language plpgsql as $$
begin
  update a2a_tasks set ended_at = clock_timestamp(), state = case
      when new.state = 'answered' then 'completed'
      when cancel_requested_at is not null then 'canceled'
      else 'failed'
    end
  where turn_id = new.id and ended_at is null;
  return null;
end $$;
create trigger messages_end_a2a_task after update of state on messages for each row
  when (old.state = 'pending' and new.state <> 'pending' and new.platform = 'a2a') execute function end_a2a_task();

create table a2a_push_notifications (
  task_id text not null references a2a_tasks on delete cascade,
  -- Chosen by the client or by the service.
  id text not null,
  url text not null,
  -- The scheme of the credentials, and both secrets of the client.
  scheme text,
  secrets_sealed text,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  due_at timestamptz not null,
  claimed_until timestamptz,
  failure text,
  created_at timestamptz not null,
  primary key (task_id, id)
);
create index a2a_push_notifications_due on a2a_push_notifications (due_at) where status = 'pending';
`
