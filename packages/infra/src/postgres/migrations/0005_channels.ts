/** Repeated turns of chats, and the age of chats. */
export default `
-- Whether a model call was ever begun: own_calls and platform_calls leave out failed ones.
alter table turns add column call_begun boolean not null default false;

-- Of failed messages; null for others. A message of a chat whose turn began no call is repeated.
alter table messages add column call_begun boolean;

alter table inbound_messages
  -- Turns that ended before their model call.
  add column failed_turns integer not null default 0,
  add column first_turn_at timestamptz;

alter table channel_chats add column used_at timestamptz not null default now();
`
