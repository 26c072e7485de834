/** Transcripts of waiting voice messages, and stream keys that must be replaced. */
export default `
-- By file. Empty once the message has been handled.
alter table inbound_messages add column transcripts jsonb not null default '{}';

-- The key is refused, and replaced at this time at the latest: providers are called after the transaction.
alter table live_streams add column key_due_at timestamptz;
create index live_streams_key_due on live_streams (key_due_at) where key_due_at is not null;
`
