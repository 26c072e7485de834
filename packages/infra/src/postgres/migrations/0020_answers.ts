/** Titles of conversations; price, duration, tool calls and stopping of answers. */
export default String.raw`
alter table chat_sessions add column title text check (length(title) between 1 and 200);
alter table messages
  -- Of replies.
  add column units integer check (units >= 0),
  -- Millionths of a US dollar.
  add column cost_micros bigint check (cost_micros >= 0),
  add column duration_ms integer check (duration_ms >= 0),
  add column is_stopped boolean not null default false,
  add column tool_calls jsonb;
-- A request to the process of the turn.
alter table turns add column stop_requested boolean not null default false;
`
