/** Chats of owners. */
export default `
-- The chat that receives the claim code of its agent; verified once the agent is claimed with it.
alter table channel_chats add column of_owner text check (of_owner in ('unverified', 'verified'));

-- Whether the owner writes the messages of a channel. Those of the web and of schedules are the owner's anyway.
alter table chat_sessions add column from_owner boolean not null default false;
`
