/** Files that owners attach to messages. */
export default String.raw`
create table attachments (
  id text primary key,
  agent_id text not null references agents on delete cascade,
  -- Null until a message names it.
  session_id text references chat_sessions on delete cascade,
  name text not null,
  media_type text not null,
  size integer not null check (size > 0),
  content bytea not null,
  created_at timestamptz not null
);
-- Images are compressed already.
alter table attachments alter column content set storage external;
create index attachments_agent on attachments (agent_id);
create index attachments_session on attachments (session_id);
create index attachments_unsent on attachments (created_at) where session_id is null;
-- An array of {id, name, mediaType, size}.
alter table messages add column attachments jsonb;
`
