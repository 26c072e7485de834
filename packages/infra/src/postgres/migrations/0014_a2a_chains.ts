/** Chains of messages between agents: their senders, budgets and priorities. */
export default String.raw`
alter table a2a_messages
  -- The first message of the chain.
  add column chain_id text,
  -- The senders of the chain, the first one first, and its level.
  add column path text[],
  add column depth integer not null default 1,
  -- That of the message or of its chain, whichever is earlier.
  add column expires_at timestamptz,
  -- The turn in which the sender sent it.
  add column parent_turn text,
  -- The most units that the message and those that follow from it may cost, and their cost.
  add column budget_units integer,
  add column used_units integer,
  -- Of a first message: messages of its chain.
  add column chain_messages integer not null default 1;
update a2a_messages set chain_id = id, path = array[from_agent];
alter table a2a_messages alter column chain_id set not null, alter column path set not null;
create index a2a_messages_of_turn on a2a_messages (parent_turn) where parent_turn is not null;
`
