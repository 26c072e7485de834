/** Tasks are listed by the time of their state, in milliseconds as in page tokens. */
export default String.raw`
alter table a2a_tasks alter column created_at type timestamptz(3), alter column ended_at type timestamptz(3);
drop index a2a_tasks_of_caller;
create index a2a_tasks_of_caller on a2a_tasks (caller_id, agent_id, (coalesce(ended_at, created_at)) desc, id desc);
`
