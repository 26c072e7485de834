/** Limits that owners set on the units of a day or a month. */
export default String.raw`
create table budgets (
  user_id text not null references users on delete cascade,
  -- Null for the whole account.
  agent_id text references agents on delete cascade,
  period text not null check (period in ('day', 'month')),
  units bigint not null check (units >= 0)
);
create unique index budgets_key on budgets (user_id, coalesce(agent_id, ''), period);
create index budgets_of_agent on budgets (agent_id);
-- Budgets sum the reservations of a day or a month.
drop index reservations_of_user;
create index reservations_of_user_by_day on reservations (user_id, day);
-- Reservations of messages name their agents from now on: so do those that count against a budget of this month.
update reservations set agent_id = messages.agent_id from messages
where messages.id = reservations.cause and messages.user_id = reservations.user_id and reservations.agent_id is null
  and reservations.day >= date_trunc('month', now() at time zone 'UTC')::date;
`
